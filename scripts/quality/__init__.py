"""The gate that tells whether one translator is as good as another."""
