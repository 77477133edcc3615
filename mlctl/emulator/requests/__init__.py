"""What handlers of requests share: the call, lists, resource bodies, stored blobs, settings."""
