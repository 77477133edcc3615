"""As much of Azure Storage as uploads, downloads and leases need."""
