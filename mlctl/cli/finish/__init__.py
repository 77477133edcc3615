"""`mlctl finish`: carry out a job over as many runs as it takes, whatever happens to its nodes."""
