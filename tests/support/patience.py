"""How long tests wait."""

PATIENCE_S = 90.0
"""So long a machine that is at much else may take for what a test waits for."""
