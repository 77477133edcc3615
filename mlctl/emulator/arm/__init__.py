"""Azure Resource Manager's operations, and the data plane's beside them."""
