"""A project: what `mlctl.yml` says, and documents loaded and planned as it says."""
