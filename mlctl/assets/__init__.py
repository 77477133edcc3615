"""Local files that documents name: hashes, the assets that they become, and their names."""
