"""Learning from services: pairs and sound to a data folder, training mixes, comparisons, deploys."""
