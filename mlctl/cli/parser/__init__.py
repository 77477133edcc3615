"""Parse a command line into the parameters of a function, as az does."""
