"""Are captions as quick among abusive clients? See `python -m scripts.bench.crowd --help`."""
