"""Steps to events: a plan carried out, in parallel or on virtual time."""
