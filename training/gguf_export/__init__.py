"""Decoder-only checkpoints as GGUF files, each checked against its checkpoint."""
