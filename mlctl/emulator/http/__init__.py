"""HTTP: messages, the server, TLS, and who may connect."""
