"""`mlctl emulator`: the simulated cloud as Azure's REST API."""
