"""Export decoder-only checkpoints to GGUF files, each checked against its checkpoint."""
