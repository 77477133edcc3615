"""The shapes of answers: the keys of each kind's body, in the service's order."""
