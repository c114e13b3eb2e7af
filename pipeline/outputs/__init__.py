"""Final captions handed to other programs: YouTube, vMix, ProPresenter, FreeShow."""
