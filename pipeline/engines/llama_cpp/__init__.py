"""Engines that llama.cpp runs: Gemma and an embedder."""
