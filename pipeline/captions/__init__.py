"""Captions as values: the board of those on screen, layout, subtitle files."""
