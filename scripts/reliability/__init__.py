"""Long and hostile runs of the real program: the fault matrix, kills, the soak."""
