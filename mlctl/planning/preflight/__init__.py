"""What the backend would reject, found in the plan before anything is written."""
