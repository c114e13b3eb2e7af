"""stark-translate: a preacher's voice in, captions in another language out, live."""

import os
import sys
from pathlib import Path

# onnxruntime (1.31 and later) keeps a number for this machine in the user's cache and sends what it
# runs to its maker; huggingface_hub (2.4) tells the hub which program started it, and fetches a
# list of programs for that. Here, before anything imports them; the engines' processes inherit it.
os.environ["ORT_DISABLE_TELEMETRY"] = "1"
os.environ["HF_HUB_DISABLE_TELEMETRY"] = "1"

# A wheel for one system carries llama.cpp (scripts/wheels/build_own.py). Last in the path: a build
# for a GPU that is installed beside the program comes first.
sys.path.append(str(Path(__file__).parent / "bundle" / "packages"))

__version__ = "0.3.0"
