"""The simulated cloud: the control plane of Azure ML workspaces, and the event engine below it."""
