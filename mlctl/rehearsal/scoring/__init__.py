"""Rehearsals of scoring scripts."""
