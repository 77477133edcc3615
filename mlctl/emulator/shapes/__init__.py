"""What answers look like: the keys of each kind's body, in the service's order."""
