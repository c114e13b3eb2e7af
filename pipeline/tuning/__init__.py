"""Finding the settings that suit a machine."""
