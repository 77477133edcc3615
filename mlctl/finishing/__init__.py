"""A job that is brought to its end over as many runs as it takes: by a deadline, on a budget."""
