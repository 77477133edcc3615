"""Checks of a plan against the live state: what the backend would reject."""
