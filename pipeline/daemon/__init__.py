"""The running program: start, supervision, operator commands, stop."""
