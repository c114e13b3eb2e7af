"""Learning from services: pairs, sound, training mixes, comparisons, deploys."""
