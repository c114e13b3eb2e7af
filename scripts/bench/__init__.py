"""Measurements of the program: latency, streaming metrics, a hall full of displays."""
