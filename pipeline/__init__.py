"""stark-translate: a preacher's voice in, captions in another language out, live."""

import os

# onnxruntime (1.31 and later) keeps a number for this machine in the user's cache and sends what it
# runs to its maker. Here, before anything imports it; the engines' processes inherit it.
os.environ["ORT_DISABLE_TELEMETRY"] = "1"

__version__ = "0.1.0"
