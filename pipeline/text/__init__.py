"""Pure functions on text: repetition, wrong script, sentence ends, agreement."""
