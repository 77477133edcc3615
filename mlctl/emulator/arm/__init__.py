"""Handlers: Azure Resource Manager's operations, and some of the workspace's data plane."""
