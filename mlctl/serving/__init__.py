"""The user's own code behind endpoints of the simulated cloud, where it was asked for."""
