"""Local files that documents name: their hashes, and the assets that they become."""
