"""The protocols of backends and the values that pass through them."""
