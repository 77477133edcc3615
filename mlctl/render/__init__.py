"""Output: functions from values to text. Progress is written to streams."""
