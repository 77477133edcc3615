"""The plan family: commands that compare files with a workspace, or change either."""
