"""A request under way: what it names, what it may touch, and how it is answered."""
