"""stark-translate: a preacher's voice in, captions in another language out, live."""

__version__ = "0.1.0"
