"""Numbers of bytes as people read them."""

from __future__ import annotations


def human_size(size: int) -> str:
    """Return a number of bytes such as "2.49 GB" or "68 MB", in thousands."""
    if size >= 100_000_000:
        return f"{size / 1e9:.2f} GB"
    return f"{f'{size / 1e6:.1f}'.removesuffix('.0')} MB"
