"""Forecasts: what a job takes and costs, as a distribution, from the files that will be applied."""

DEFAULT_WEATHER = "aws-v100-2023"  # the only one that was measured
