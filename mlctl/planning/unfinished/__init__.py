"""What an unfinished apply has removed and not restored."""
