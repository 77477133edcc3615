"""What the service makes of the resources of each kind: checked, respelt, counted."""
