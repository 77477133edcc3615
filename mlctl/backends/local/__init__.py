"""The local backend: the simulated cloud behind the protocols of `ports`."""
