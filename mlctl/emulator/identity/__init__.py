"""As much of Microsoft Entra ID as getting and checking a token needs."""
