"""What the quality gate is made of; scripts/evaluate_quality.py is its command."""
