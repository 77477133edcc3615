"""The search for a configuration that does a job best."""
