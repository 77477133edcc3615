"""Graph and live state to a plan: what would change, why, and what would be refused."""
