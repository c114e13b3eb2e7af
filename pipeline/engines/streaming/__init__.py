"""Streaming recognizers, which hear sound as it comes."""
