"""How often nodes are taken away: named patterns, and patterns fitted to records."""
