"""Kokoro-82M, speech with a natural voice: onnxruntime, and espeak-ng for the phonemes."""

from __future__ import annotations

import re
import threading
import time
import unicodedata
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pipeline.core.errors import EngineError, ModelError
from pipeline.core.resources import bundled
from pipeline.core.types import Pcm
from pipeline.engines.speech import espeak
from pipeline.text.spoken import pieces, sayable

LANGUAGES = ("en", "es", "fr", "pt")
"""Languages with a shipped voice in models/voices."""
FILE = "kokoro.onnx"
_MOST_CHARACTERS = 200
"""Limit of a piece that is synthesized at once: it has under 510 phonemes and is soon done."""
_SILENT = 0.005
_BEFORE_S, _AFTER_S, _AFTER_CLAUSE_S = 0.03, 0.03, 0.2
"""Silence that is kept around a piece; the model adds up to .4 s, which would delay a listener."""
_STYLES, _STYLE_SIZE = 510, 256
_TIED = {
    "a^ɪ": "I",
    "a^ʊ": "W",
    "e^ɪ": "A",
    "o^ʊ": "O",
    "ɔ^ɪ": "Y",
    "ə^ʊ": "Q",
    "d^z": "ʣ",
    "d^ʒ": "ʤ",
    "t^s": "ʦ",
    "t^ʃ": "ʧ",
    "s^s": "S",
}
"""Pairs of sounds that are one symbol in the model."""
_AMERICAN = {
    "ɜːɹ": "ɜɹ",
    "ɜː": "ɜɹ",
    "ɪə": "iə",
    "oː": "ɔ",
    "ə^l": "ᵊl",
    "ɚ": "əɹ",
    "ɐ": "ə",
    "r": "ɹ",
    "x": "k",
    "ʔ": "t",
    "ɾ": "T",
    "ɬ": "l",
    "ː": "",
}
"""English phonemes of espeak-ng, mapped to those that the model was trained on, in this order.

The model knows no "ɜ" without the "ɹ" after it: "church" would be "chuch".
"""
_PRONOUN = re.compile(r"(?<!\S)I(?!\S)")
"""The word "I", which the model knows with a secondary stress only: without it "I slept" is
"slept".
"""
_FOREIGN = re.compile(r"\([a-z^-]+\)")
"""espeak-ng's marks of a word in another language."""
_CLAUSE = re.compile(r"((?:[^,.;:!?…—]|(?<=\d)[,.:](?=\d))+)([,.;:!?…—]*)")
"""A mark within a number ends no clause: "3.500" would be spoken as two numbers."""
_RUNS = (
    *((1, ";:,.!?"), (9, '—…"()“” \u0303ʣʥʦʨᵝꭧAI'), (31, "O"), (33, "Q"), (35, "ST"), (39, "W")),
    *((41, "Yᵊabcdef"), (50, "hijklmnopqrstuvwxyzɑɐɒæ"), (75, "βɔɕç"), (80, "ɖðʤə"), (85, "ɚɛɜ")),
    *((90, "ɟ"), (92, "ɡ"), (99, "ɥ"), (101, "ɨɪʝ"), (110, "ɯɰŋɳɲɴø"), (118, "ɸθœ"), (123, "ɹ")),
    *((125, "ɾɻ"), (128, "ʁɽʂʃʈʧ"), (135, "ʊʋ"), (138, "ʌɣɤ"), (142, "χʎ"), (147, "ʒʔ")),
    *((156, "ˈˌː"), (162, "ʰ"), (164, "ʲ"), (169, "↓"), (171, "→↗↘"), (177, "ᵻ")),
)
_NUMBERS = {sign: number for first, run in _RUNS for number, sign in enumerate(run, first)}
"""The model's number for each phoneme and punctuation mark, as its authors define it."""


def tokens(text: str, lang: str, timeout_s: float) -> list[int]:
    """Return the model's tokens of a text. Raises EngineError."""
    until_s = time.monotonic() + timeout_s
    written = []
    for clause in _CLAUSE.finditer(text):
        # Clause by clause: espeak-ng drops punctuation, which the model needs.
        left_s = max(0.0, until_s - time.monotonic())
        said = _FOREIGN.sub("", espeak.phonemes(clause[1], lang, left_s))
        for heard, sign in (_TIED | (_AMERICAN if lang == "en" else {})).items():
            said = said.replace(heard, sign)
        if lang == "en":
            said = _PRONOUN.sub("ˌI", said)
        # The model has no symbol for the remaining pairs: their sounds are spoken in sequence.
        written.append(said.replace("^", "").strip() + clause[2][:1])
    phonemes = " ".join(written)
    # In the model, a nasal vowel is two symbols, the vowel and a tilde.
    known = (_NUMBERS.get(sign) for sign in unicodedata.normalize("NFD", phonemes))
    return [number for number in known if number is not None]


class Kokoro:
    """Speaks with Kokoro. Belongs to one thread."""

    name = "kokoro"
    degraded_reason = ""
    gpu_layers = 0

    def __init__(
        self,
        model: Path,
        *,
        section: str,
        languages: tuple[str, ...],
        threads: int,
        deadline_s: float,
        voices: Path | None = None,
    ) -> None:
        """Take the settings. `voices` is a folder of CODE.bin files; default: the shipped ones."""
        self._voices = voices or bundled("models", "voices")
        self._model = model
        self._key = f"{section}.model"
        self._languages = languages
        self._threads = threads
        self._deadline_s = deadline_s
        self._session: Any = None
        self._styles: dict[str, NDArray[np.float32]] = {}

    def load(self) -> None:
        """Load the model and say a word. Raises ModelError."""
        espeak.program()
        for lang in self._languages:
            voice = self._voices / f"{lang}.bin"
            try:
                self._styles[lang] = np.fromfile(voice, "<f4").reshape(_STYLES, 1, _STYLE_SIZE)
            except (OSError, ValueError) as error:
                fix = "Install the program again."
                raise ModelError("model-broken", f"{voice}: {error}.", fix) from None
        try:
            # Tested separately: a failure here is no fault of the weights.
            espeak.phonemes("1", self._languages[0], self._deadline_s)
        except EngineError as error:
            if error.code != "speech-late":
                fix = f"Install it again: sudo apt install --reinstall {espeak.PROGRAM}"
                raise ModelError(error.code, f"[speech]: {error.message}", fix) from None
        import onnxruntime  # noqa: PLC0415 - heavy libraries load with an engine

        self._runtime = onnxruntime
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = self._threads
        options.inter_op_num_threads = 1
        try:
            self._session = onnxruntime.InferenceSession(
                self._model / FILE, options, providers=["CPUExecutionProvider"]
            )
            self.speak("1", self._languages[0], 1.0)  # the first run takes longer
        except Exception as error:  # noqa: BLE001 - onnxruntime has a class for each
            # On a busy machine, the first run may be late.
            if isinstance(error, EngineError) and error.code == "speech-late":
                return
            raise ModelError(
                "model-broken",
                f"{self._key}: onnxruntime cannot use {self._model / FILE}: {error}.",
                "Pull it again: stark-translate models pull kokoro-82m-int8",
            ) from None

    def speak(self, text: str, lang: str, rate: float) -> Pcm:
        """See `Speaker`. Raises EngineError (as `Espeak.speak`; speech-no-voice)."""
        if lang not in self._styles:
            raise EngineError("speech-no-voice", f"Kokoro has no voice for {lang!r} here.")
        until_s = time.monotonic() + self._deadline_s
        made = [
            self._piece(piece, lang, rate, until_s)
            for piece in pieces(sayable(text, lang), _MOST_CHARACTERS)
        ]
        return np.concatenate(made) if made else np.zeros(0, np.float32)

    def _piece(self, text: str, lang: str, rate: float, until_s: float) -> Pcm:
        # A voice has no style for more phonemes.
        ids = tokens(text, lang, max(0.1, until_s - time.monotonic()))[: _STYLES - 1]
        given = {
            # The model was trained with its padding token, 0, at both ends.
            "tokens": np.array([[0, *ids, 0]], np.int64),
            # A voice has a style for each number of phonemes.
            "style": self._styles[lang][len(ids)],
            "speed": np.array([rate], np.float32),
        }
        # New options for each run: those that have ended one run would end every later run.
        options = self._runtime.RunOptions()
        # Abort a late run: late speech is useless, and the next clause waits.
        late = threading.Timer(max(0.0, until_s - time.monotonic()), _end, [options])
        late.start()
        try:
            sound = self._session.run(None, given, options)[0]
        except Exception as error:  # noqa: BLE001 - as above
            if options.terminate:
                said = f"A clause took longer than {self._deadline_s:.1f} s."
                raise EngineError("speech-late", said) from None
            raise EngineError("speech-failed", f"Kokoro: {error}.") from None
        finally:
            # Without this, a thread per piece would stay until the deadline.
            late.cancel()
        return _trimmed(np.asarray(sound, np.float32).ravel(), is_clause=not text[-1].isalnum())


def _trimmed(sound: Pcm, *, is_clause: bool) -> Pcm:
    loud = np.flatnonzero(np.abs(sound) > _SILENT)
    if not len(loud):
        return sound
    first = loud[0] - round(_BEFORE_S * espeak.RATE_HZ)
    # The pause after a punctuation mark belongs to the speech.
    last = loud[-1] + round((_AFTER_CLAUSE_S if is_clause else _AFTER_S) * espeak.RATE_HZ)
    return sound[max(0, first) : last + 1]


def _end(options: Any) -> None:
    options.terminate = True
