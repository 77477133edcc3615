"""Rehearsals: reports, live view, page."""
