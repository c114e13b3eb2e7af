"""What all parts of the daemon work on, made before them."""
