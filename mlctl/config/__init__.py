"""The configuration: documents are loaded, linked into a graph and checked by rules."""
