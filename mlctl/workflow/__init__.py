"""Plan files and apply plans: what the commands and the library share."""
