"""What a simulated workspace holds: the store, its rows, the clock, settings."""
