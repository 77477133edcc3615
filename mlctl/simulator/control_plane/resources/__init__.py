"""The rules of each resource type: what the service accepts, and the form in which it stores it."""
