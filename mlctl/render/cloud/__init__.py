"""Live resources, jobs and metrics as tables and text."""
