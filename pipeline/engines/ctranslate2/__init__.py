"""Engines that CTranslate2 runs: Whisper and MarianMT."""
