"""Plans, costs and drift: text, JSON, Markdown."""
