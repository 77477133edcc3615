"""`mlctl local`, `mlctl emulator`, `mlctl convert`: what only the simulated cloud has."""
