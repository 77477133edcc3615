"""A project's own rules: on files, on what a plan changes, and on what it costs."""
