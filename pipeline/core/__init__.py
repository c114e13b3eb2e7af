"""The base of all other packages: the values that travel, errors, files, logs, metrics."""
