"""What an apply does and did, as it goes and at its end."""
