"""A small model learns from a large one."""
