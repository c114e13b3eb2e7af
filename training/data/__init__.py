"""Text and sound to train on, and what of it is held out."""
