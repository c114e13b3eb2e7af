"""Church words that the recognizer mishears, and how they are written."""
