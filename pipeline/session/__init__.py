"""A service on disk: recording it, reading it back, resuming, deleting."""
