"""Settings: their schema, where they come from, how they are changed."""
