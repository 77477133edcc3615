"""A rehearsal of a training: its command on nodes that are lost, and what that shows."""
