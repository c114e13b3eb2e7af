"""Sentences that a congregation could misunderstand, and the meaning each caption must have."""
