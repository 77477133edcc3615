"""Search for the configuration that does a job best."""
