"""The user's own code behind endpoints of the simulated cloud, if requested."""
