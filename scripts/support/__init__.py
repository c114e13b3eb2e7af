"""Shared by scripts and tests: the running program, servers for browsers, made-up sessions."""
