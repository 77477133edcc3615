"""The simulated cloud: the control plane of a workspace, and the event engine behind it."""
