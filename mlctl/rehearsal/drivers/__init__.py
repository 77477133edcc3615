"""Scoring scripts for models without one, run by the user's Python without mlctl."""
