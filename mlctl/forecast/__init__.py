"""Forecasts: what a job takes and costs, as a distribution, from the files that will be applied."""
