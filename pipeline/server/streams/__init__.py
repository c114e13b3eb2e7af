"""What has no end, over plain HTTP: events, subtitles of streams, the voice."""
