"""What handlers of requests share: the call, lists, stored blobs, settings."""
