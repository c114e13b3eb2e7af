"""Are captions as quick with vandals in the hall? See `python -m scripts.bench.crowd --help`."""
