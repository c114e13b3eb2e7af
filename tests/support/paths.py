"""Where the repository is."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TESTIMONY = Path(__file__).parent / "testimony_es.flac"
"""Two Spanish sentences in a natural voice (Kokoro-82M, Apache-2.0), 16 kHz: "Mi hijo estuvo tres
semanas en el hospital. Los médicos no sabían qué tenía, pero ustedes oraron por él cada noche."
"""
