"""The demo sermon, made of its text."""
