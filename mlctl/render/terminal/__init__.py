"""Widths, colours and styles of a terminal."""
