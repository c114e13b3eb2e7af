"""Text and sound to train on, and the held-out part of it."""
