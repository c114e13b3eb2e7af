"""Checks of what a church cannot forgive if it is wrong: references, numbers, negation, verses."""
