"""What the files say: documents loaded, linked to a graph, and held to the rules."""
