"""Ownership of resources: project tags, adoption, pruning."""
