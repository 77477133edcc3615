"""Whose a resource is: project tags, adoption, pruning."""
