"""Backends: what can read, put and delete resources (`base` has the protocol)."""
