"""The configuration: documents are loaded, linked to a graph and checked by the rules."""
