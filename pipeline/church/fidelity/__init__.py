"""Each final compared with what was said: references, numbers, negation, church words."""
