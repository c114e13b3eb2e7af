"""A decoder-only checkpoint as GGUF files for llama.cpp, each checked against the checkpoint."""
