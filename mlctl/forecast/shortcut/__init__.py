"""Histories of batch jobs without the event engine, equal to those of the engine."""
