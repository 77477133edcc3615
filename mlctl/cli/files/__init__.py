"""Commands about files alone: no workspace is asked."""
