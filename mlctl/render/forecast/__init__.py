"""Forecasts and advice as text and pages."""
