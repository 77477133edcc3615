"""Plan the changes from the live state to the files, and the steps that make them."""
