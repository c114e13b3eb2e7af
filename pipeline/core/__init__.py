"""What every other package builds on: the values that travel, errors, files, logs."""
