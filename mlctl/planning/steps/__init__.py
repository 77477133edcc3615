"""A plan as single writes, and their order."""
