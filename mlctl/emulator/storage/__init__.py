"""As much of Azure Storage as uploads and downloads need."""
