"""Messages between the daemon and its pages."""
