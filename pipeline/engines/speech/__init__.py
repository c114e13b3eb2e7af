"""Engines that speak: espeak-ng, and Kokoro with espeak-ng's phonemes."""
