"""From the graph of the files and the live state to a plan, and to the steps that carry it out."""
