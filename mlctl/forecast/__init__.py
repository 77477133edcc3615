"""Forecast the time and cost of jobs, as distributions, from the files that declare them."""

DEFAULT_WEATHER = "aws-v100-2023"  # the only one that was measured
