"""Run the user's own code on simulated nodes that are lost: real processes, virtual time."""
