"""From the reports of the workers to captions, in every target language."""
