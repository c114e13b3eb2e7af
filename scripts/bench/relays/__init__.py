"""Viewers beyond the hall: one church, a NATS server, relays and their displays."""
