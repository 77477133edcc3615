"""Rehearsals as reports, as a live view and as a page."""
