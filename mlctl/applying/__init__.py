"""Carry out the steps of a plan, in parallel or on virtual time."""
