"""Forecasts of batch jobs: scenario, study, report."""
