"""What an apply is doing, and what it has done."""
