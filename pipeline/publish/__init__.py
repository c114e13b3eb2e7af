"""Captions beyond the hall: a stream that relays feed on, and outputs for other programs."""
