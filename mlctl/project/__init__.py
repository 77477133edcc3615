"""A project: `mlctl.yml`, and documents loaded and planned as it says."""
