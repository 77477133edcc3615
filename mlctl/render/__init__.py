"""Output: functions that turn values into text; progress is written to streams."""
