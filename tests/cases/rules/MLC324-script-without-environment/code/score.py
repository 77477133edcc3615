"""Stands in for a scoring script."""
