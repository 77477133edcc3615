"""Replacement by a successor of another name."""
