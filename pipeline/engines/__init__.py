"""Speech recognition and translation engines behind two protocols."""
