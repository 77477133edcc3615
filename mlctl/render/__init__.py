"""Values to text: each renderer is a total function to a string, and decides nothing."""
