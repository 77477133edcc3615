"""Forecasts of training jobs with checkpoints."""
