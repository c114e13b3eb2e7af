"""The church's voice: what is said of captions, when, and the sound that listeners get."""
