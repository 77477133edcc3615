"""`mlctl simulate`, and the flags and words that all forecasts share."""
