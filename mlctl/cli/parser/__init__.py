"""A command line to the parameters of a function, read as az reads it."""
