"""Finishing a job over as many runs as it takes, by a deadline and on a budget."""
