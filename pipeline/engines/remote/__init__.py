"""Engines on servers that speak OpenAI's protocol."""
