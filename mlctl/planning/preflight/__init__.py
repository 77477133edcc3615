"""Check a plan against the live state for what the backend would reject."""
