"""The width, colours and styles of a terminal."""
