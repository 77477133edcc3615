"""Rehearsals of training jobs: the command runs on nodes that are lost."""
