"""The database of a simulated cloud: store, rows, clock and settings."""
