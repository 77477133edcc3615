"""One module per kind, with its record as `KIND`, imported on demand."""
