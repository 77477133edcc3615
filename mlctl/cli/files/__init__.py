"""Commands about files alone, without a workspace."""
