"""Sermon notes: the names and verses that a preacher has prepared."""
