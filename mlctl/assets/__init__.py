"""The user's other files: what is hashed and uploaded, and the names that follow from content."""
