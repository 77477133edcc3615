"""What an apply that did not end has taken away and not restored."""
