"""The plan family: what compares files with a workspace, and what changes either."""
