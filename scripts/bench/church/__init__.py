"""The church benchmark: references, quotations, and what must be left alone."""
