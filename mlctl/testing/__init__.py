"""For other people's tests: a simulated workspace per test, by fixtures of pytest."""
