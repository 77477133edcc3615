"""`mlctl finish`: a batch job brought to its end, whatever becomes of its nodes."""
