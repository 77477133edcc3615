"""Files to a plan, a plan to an outcome: what the commands and the library both do."""
