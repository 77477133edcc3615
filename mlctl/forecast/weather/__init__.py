"""Weather: how often nodes are taken away, in named patterns or fitted to records."""
