"""The data folder: what services have given, sentence by sentence."""
