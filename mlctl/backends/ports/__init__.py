"""What a backend is: protocols, values and errors that the rest of mlctl knows backends by."""
