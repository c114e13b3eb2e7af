"""Export checkpoints to the files that the daemon loads."""
