"""Make the demo sermon from its text."""
