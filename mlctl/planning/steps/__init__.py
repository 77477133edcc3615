"""A plan as single writes, and which waits for which."""
