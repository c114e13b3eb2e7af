"""The records of a session: their fields and how they are worked out."""
