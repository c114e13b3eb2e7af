"""The architectures of the starter models in PyTorch."""
