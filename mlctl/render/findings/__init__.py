"""Findings: for people, editors and code scanning."""
