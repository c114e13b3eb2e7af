"""Speech to text: Whisper in CTranslate2, on a window as short as the utterance allows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import structlog
from numpy.typing import NDArray

from pipeline.core.errors import EngineCancelledError, EngineError, ModelError
from pipeline.core.standing import Token
from pipeline.core.types import SAMPLE_RATE, Pcm, Recognition, Word
from pipeline.engines.ctranslate2.errors import explain, require
from pipeline.engines.ctranslate2.lost_tail import (
    LOST_S,
    LastWord,
    ends_of,
    is_credible,
    joined,
    last_word,
)
from pipeline.engines.protocols import never
from pipeline.engines.specification import setting
from pipeline.text.repetition import compression_ratio
from pipeline.text.words import words as text_words

log = structlog.get_logger()

_FRAMES_A_SECOND = 100
_HOP = 160
"""Samples in a frame of features."""
_MAX_FRAMES = 3000
_FULL_S = 30.0
"""Whisper's own window."""
_MAX_SAMPLES = 30 * SAMPLE_RATE
_MARGIN_S = 2.0
_RANGE = 2.0
"""Whisper's features span 80 dB, which is 2.0 in its units. Softer sound counts as silence."""
_SILENCE = -1.5
"""The feature value of digital silence in a recording with no other sound."""
_TOKENS_A_SECOND = 12
_MAX_TOKENS = 220
"""Whisper decodes 448 tokens in all. Hotwords and the start of the prompt take up to 228."""
_MORE_TOKENS = 16
"""Tokens that may follow a forced prefix, however long the prefix is for the audio."""
_TAIL_S = 0.2
"""Most audio that the segmenter keeps after the last speech."""
_TRANSLATION_BEAM = 5
"""Translation is less certain than transcription: greedy decoding goes wrong."""
_MOST_COPIED = 0.4
"""Largest share of words that a translation may copy from the source: names, "no", "hospital"."""
_LOOKS = 3
"""Most decodings of a lost tail. Each one begins after the one before."""

_PERHAPS_GPU = frozenset({"gpu-unavailable", "compute-type-unsupported", "model-broken"})
"""Error codes that a GPU, its driver or its libraries may cause."""
_SPACE = "Ġ"  # byte-level BPE writes the space before a word so
_UNFINISHED = "\ufffd"  # a token that holds only some bytes of a character

Choice: TypeAlias = tuple[int, float]
"""A token and its log-probability, given all tokens before it."""


@dataclass(frozen=True, slots=True)
class _Heard:
    """One decoding: its result, and the data to align its tokens."""

    recognition: Recognition
    tokens: list[int]
    encoded: Any
    frames: int


class Whisper:
    """A Recognizer on the model, the features and the tokenizer of `faster_whisper`.

    `model` is the folder of a CTranslate2 model. `lang` is the spoken language. `window_s` is the
    shortest window that is encoded. `hotwords` are words to expect: they may change between calls,
    and the model sees their first 223 tokens. Finals hold a confidence for each word.
    `section`: see `EngineSpec`.

    `also_spoken` are further languages. With them, each recognition holds the probability of each
    language, and `lang` selects the language to recognize. Finals in a language of `to_english`
    hold the model's own translation.
    """

    degraded_reason = ""
    """Why the model is not on the requested GPU; empty when it runs as configured."""

    def __init__(
        self,
        model: Path,
        *,
        device: str = "cpu",
        compute_type: str = "int8",
        threads: int = 2,
        lang: str = "en",
        also_spoken: Sequence[str] = (),
        to_english: Sequence[str] = (),
        window_s: float = 10.0,
        hotwords: str = "",
        section: str = "",
    ) -> None:
        self._path = model
        self._section = section
        self._settings = {"device": device, "compute_type": compute_type, "cpu_threads": threads}
        self._spoken = (lang, *also_spoken)
        self._to_english = frozenset(to_english)
        self._window_s = window_s
        self._model: Any = None
        self._tokenizers: dict[str, Any] = {}
        self._suppressed: list[int] = []
        self.has_alignment = False
        """Whether the model can align words with the audio, which the lost-tail guard needs."""
        self.hotwords = hotwords
        self.lang = lang
        self.is_cancelled: Callable[[], bool] = never

    @property
    def name(self) -> str:
        """Engine and model."""
        return f"whisper:{self._path.name}"

    @property
    def gpu_layers(self) -> int:
        """-1 (all layers) when the model is loaded on a GPU, 0 on the CPU."""
        return 0 if self._model is None or self._model.model.device == "cpu" else -1

    def load(self) -> None:
        """Load the model and transcribe a second of silence. Raises ModelError.

        If the requested GPU cannot be used, the model runs on the CPU in INT8.
        """
        require(self._path, ("model.bin", "tokenizer.json"), self._section, "Whisper")
        try:
            self._start(self._settings)
        except ModelError as error:
            if self._settings["device"] == "cpu" or error.code not in _PERHAPS_GPU:
                raise
            # Captions from a CPU are better than none. float16 is for GPUs only.
            self._start({**self._settings, "device": "cpu", "compute_type": "int8"})
            self.degraded_reason = f"on the CPU instead of the GPU: {error.message}"
        self.has_alignment = self._try_alignment()

    def _start(self, settings: Mapping[str, Any]) -> None:
        key = setting(self._section, "model")
        import faster_whisper  # noqa: PLC0415 - heavy
        from faster_whisper.tokenizer import Tokenizer  # noqa: PLC0415
        from faster_whisper.transcribe import get_suppressed_tokens  # noqa: PLC0415

        try:
            model = faster_whisper.WhisperModel(
                str(self._path), num_workers=1, local_files_only=True, **settings
            )
        except Exception as error:
            raise explain(error, self._path, self._section, "Whisper") from error
        for lang in self._spoken:
            if lang not in model.supported_languages:
                raise ModelError(
                    "model-wrong-lang",
                    f"{key}: {self._path} does not know the language {lang!r}.",
                    "Set translate.source to one it knows, or give a multilingual model.",
                )
        self._model = model
        multilingual = model.model.is_multilingual
        # One for each language, because the prompt holds its token. All use the same model.
        self._tokenizers = {
            lang: Tokenizer(model.hf_tokenizer, multilingual, "transcribe", lang)
            for lang in self._spoken
        }
        # -1 means Whisper's own list: symbols that nobody speaks.
        self._suppressed = list(get_suppressed_tokens(self._tokenizer, [-1]))
        try:
            # Weights may load but fail to compute: find out now, not at the first sentence.
            self.recognize(np.zeros(SAMPLE_RATE, np.float32), final=True)
        except EngineError as error:
            raise ModelError("model-broken", f"{key}: {error.message}") from error

    @property
    def _tokenizer(self) -> Any:
        """The tokenizer of the language to recognize."""
        return self._tokenizers[self.lang or self._spoken[0]]

    def recognize(self, pcm: Pcm, *, final: bool, prefix: Sequence[int] = ()) -> Recognition:
        """Return the text of `pcm`, shape (n,). Raises EngineError `stt-failed`, and
        EngineCancelledError between encoding, decoding and alignment.

        Only finals hold words, and only finals are searched for a lost tail. Only partials hold
        tokens and begin with `prefix`: a final decodes the whole utterance anew.
        """
        if not pcm.size:
            return Recognition("")
        try:
            # A longer partial is cut and holds no tokens: the times restart in each piece.
            if not final and pcm.size <= _MAX_SAMPLES:
                return self._partial(pcm, prefix)
            whole, *others = (
                self._recognize(pcm[start : start + _MAX_SAMPLES], final=final)
                for start in range(0, pcm.size, _MAX_SAMPLES)
            )
        except EngineCancelledError:
            raise
        except Exception as error:
            raise EngineError("stt-failed", f"{self.name}: {error}.") from error
        return reduce(joined, others, whole)

    def _recognize(self, pcm: Pcm, *, final: bool) -> Recognition:
        heard = self._decode(pcm, self._window_s, telling=final)
        made = self._with_tail(pcm, heard) if final and self.has_alignment else heard.recognition
        if final and made.text and self.lang in self._to_english:
            return replace(made, english=self._in_english(pcm, heard))
        return made

    def _in_english(self, pcm: Pcm, heard: _Heard) -> str:
        """Return the model's own English translation of the audio; "" if it is not English.

        The model sometimes switches to a transcript of the spoken words.
        """
        self._go_on()
        tokenizer = self._tokenizer
        # The language token, which an English-only model does not have.
        prompt = [tokenizer.sot, *tokenizer.sot_sequence[1:2], tokenizer.translate]
        (result,) = self._model.model.generate(
            heard.encoded,
            [[*prompt, tokenizer.no_timestamps]],
            beam_size=_TRANSLATION_BEAM,
            # The whole beam: the best hypothesis that does not copy the source is used.
            num_hypotheses=_TRANSLATION_BEAM,
            max_length=len(prompt) + 1 + _most_tokens(pcm),
            suppress_tokens=self._suppressed,
        )
        said = set(text_words(heard.recognition.text))
        for ids in result.sequences_ids:
            text = str(tokenizer.decode(ids)).strip()
            found = text_words(text)
            if found and sum(word in said for word in found) <= _MOST_COPIED * len(found):
                return text
        return ""

    def _partial(self, pcm: Pcm, prefix: Sequence[int]) -> Recognition:
        heard = self._decode(pcm, self._window_s, telling=False, prefix=prefix)
        # Tokens after `eot` in the vocabulary are special, such as timestamps, and not text.
        ids = [token for token in heard.tokens if token < self._tokenizer.eot]
        pieces = [self._tokenizer.decode([token]) for token in ids]
        length = len(heard.recognition.text)
        # Decodes whole prefixes, not single tokens: two tokens may share one character.
        until = (
            # The text is stripped, but its tokens may hold a leading space.
            min(length, len(self._tokenizer.decode(ids[: count + 1]).lstrip()))
            for count in range(len(ids))
        )
        ends_s: tuple[float, ...] = ()
        if ids and self.has_alignment:
            ends_s = ends_of(len(ids), self._aligned(replace(heard, tokens=ids)).alignments)
        tokens = tuple(map(Token, ids, pieces, until))
        return replace(heard.recognition, tokens=tokens, ends_s=ends_s)

    def _decode(
        self, pcm: Pcm, window_s: float, *, telling: bool, prefix: Sequence[int] = ()
    ) -> _Heard:
        """Return the text of at most 30 s, decoded greedily in one pass without timestamps.

        The text begins with the tokens `prefix`.
        """
        features = self._model.feature_extractor(pcm, padding=_HOP)
        content = min(features.shape[-1], _MAX_FRAMES)
        floor = round(window_s * _FRAMES_A_SECOND)
        encoded = self._model.encode(padded(features, window_frames(content, floor, len(features))))
        self._go_on()
        prompt = self._model.get_prompt(
            self._tokenizer, [], without_timestamps=True, hotwords=self.hotwords or None
        )
        prefix = list(prefix)[:_MAX_TOKENS]
        most = _most_tokens(pcm)
        (result,) = self._model.model.generate(
            encoded,
            [[*prompt, *prefix]],
            beam_size=1,
            # A longer limit leaves too little of the context.
            max_length=len(prompt) + max(most, min(_MAX_TOKENS, len(prefix) + _MORE_TOKENS)),
            return_scores=True,
            return_no_speech_prob=True,
            # A score for each of some 50,000 tokens at each step: only if words are wanted.
            return_logits_vocab=telling,
            # It forbids an immediate end, but nothing needs to follow committed words.
            suppress_blank=not prefix,
            suppress_tokens=self._suppressed,
        )
        made = result.sequences_ids[0]
        # CTranslate2 may or may not repeat the forced prefix in its result.
        tokens = made if made[: len(prefix)] == prefix else [*prefix, *made]
        text = self._tokenizer.decode(tokens).strip()
        # The score is the sum over tokens that were not forced, divided by all tokens of the
        # result. Whisper's own measure is the mean, and it counts the end token too.
        avg_logprob = result.scores[0] * len(made) / (len(tokens) - len(prefix) + 1)
        # With a single language, committed words were already recognized in it.
        asks = len(self._spoken) > 1 or not prefix
        lang_prob, langs = self._languages(encoded) if asks else (None, ())
        recognition = Recognition(
            text=text,
            avg_logprob=avg_logprob,
            no_speech_prob=result.no_speech_prob,
            compression_ratio=compression_ratio(text),
            lang_prob=lang_prob,
            langs=langs,
            words=words(choices(result), text, self._model.hf_tokenizer) if telling else (),
        )
        return _Heard(recognition, tokens, encoded, content)

    def _go_on(self) -> None:
        if self.is_cancelled():
            raise EngineCancelledError("engine-cancelled", "The text is not wanted any more.")

    def _languages(self, encoded: Any) -> tuple[float | None, tuple[tuple[str, float], ...]]:
        """Return the probability of the expected language (None if the model knows no other) and,
        if several are spoken, the share of each.
        """
        if not self._model.model.is_multilingual:
            return None, ()
        (found,) = self._model.model.detect_language(encoded)
        by_lang = {sign.strip("<|>"): float(share) for sign, share in found}
        expected = by_lang.get(self.lang or self._spoken[0], 0.0)
        if len(self._spoken) == 1:
            return expected, ()
        spoken = {lang: by_lang.get(lang, 0.0) for lang in self._spoken}
        # Normalized: only these languages are spoken here.
        total = sum(spoken.values()) or 1.0
        return expected, tuple((lang, round(share / total, 4)) for lang, share in spoken.items())

    def _with_tail(self, pcm: Pcm, heard: _Heard) -> Recognition:
        """Return the recognition with its lost tail, which is decoded separately, appended."""
        parts: list[Recognition] = []
        lost_s = 0.0
        for _ in range(_LOOKS):
            word = self._last_word(heard)
            left_s = pcm.size / SAMPLE_RATE - _TAIL_S - word.end_s if word is not None else 0.0
            if word is None or left_s <= LOST_S:
                break
            # What the first decoding missed. Later ones look for a part of it.
            lost_s = lost_s or left_s
            pcm = pcm[round(word.rest_start_s * SAMPLE_RATE) :]
            rest = self._decode(pcm, _FULL_S, telling=True)
            if not is_credible(rest.recognition, pcm):
                break
            parts.append(self._without(word, heard) if word.is_doubtful else heard.recognition)
            heard = rest
        whole = reduce(joined, [*parts, heard.recognition])
        return replace(whole, lost_tail_s=round(lost_s, 2), tail_recovered=bool(parts))

    def _aligned(self, heard: _Heard) -> Any:
        self._go_on()
        (aligned,) = self._model.model.align(
            heard.encoded, list(self._tokenizer.sot_sequence), [heard.tokens], heard.frames
        )
        return aligned

    def _last_word(self, heard: _Heard) -> LastWord | None:
        """Return the last word and its times, by forced alignment of the tokens."""
        if not heard.tokens:
            return None
        aligned = self._aligned(heard)
        pieces = [self._tokenizer.decode([token]) for token in heard.tokens]
        return last_word(pieces, aligned.alignments, aligned.text_token_probs)

    def _without(self, word: LastWord, heard: _Heard) -> Recognition:
        text = self._tokenizer.decode(heard.tokens[: word.first_token]).strip()
        return replace(
            heard.recognition, text=text, words=heard.recognition.words[: len(text.split())]
        )

    def _try_alignment(self) -> bool:
        """Return whether the model can align: its conversion may not name the alignment heads."""
        heard = self._decode(np.zeros(SAMPLE_RATE, np.float32), self._window_s, telling=False)
        try:
            # Any token works for this test.
            self._last_word(replace(heard, tokens=[0]))
        except RuntimeError as error:
            log.info("no lost-tail guard", model=str(self._path), why=str(error))
            return False
        return True


def _most_tokens(pcm: Pcm) -> int:
    return min(_MAX_TOKENS, 16 + int(_TOKENS_A_SECOND * pcm.size / SAMPLE_RATE))


def padded(features: NDArray[np.float32], frames: int) -> NDArray[np.float32]:
    """Return `features`, shape (mels, n), as (mels, frames), padded with silence at the end.

    Silence has the value of digital silence in the same recording: the loudest value minus the
    features' range. faster-whisper pads with zeros, which are a loud and steady hiss. In a 30 s
    window Whisper tolerates the hiss. In a shorter one it loses full stops and sentence ends.
    """
    out = np.full(
        (len(features), frames), max(float(features.max()) - _RANGE, _SILENCE), np.float32
    )
    kept = features[:, :frames]
    out[:, : kept.shape[1]] = kept
    return out


def window_frames(content: int, floor: int, n_mels: int) -> int:
    """Return how many frames to encode: at least `floor` and the content plus 2 s, at most 30 s.

    The number is even, because the encoder halves it. It is never twice the mel bands: CTranslate2
    would mistake the encoder's output, (n_mels, width), for raw features and encode it again.
    """
    frames = max(floor, content + round(_MARGIN_S * _FRAMES_A_SECOND))
    frames += frames % 2
    return min(frames + 2 if frames == 2 * n_mels else frames, _MAX_FRAMES)


def choices(result: Any) -> list[Choice]:
    """Return the tokens that a `WhisperGenerationResult` chose; it must hold each step's logits.

    faster-whisper's own word probabilities cost another pass of the decoder.
    """
    # There is one more step than tokens: the end of the text.
    steps = zip(result.sequences_ids[0], result.logits[0], strict=False)
    return [(token, _logprob(step, token)) for token, step in steps]


def words(choices: Sequence[Choice], text: str, tokenizer: Any) -> tuple[Word, ...]:
    """Return the words of `text`, split at white space, with their probabilities.

    `tokenizer` is a `tokenizers.Tokenizer`. A word's probability is the product of its tokens'
    probabilities, without punctuation unless it is all there is. Empty if the tokens do not match
    the text.
    """
    groups: list[list[Choice]] = []
    for choice in choices:
        if not groups or str(tokenizer.id_to_token(choice[0])).startswith(_SPACE):
            groups.append([])
        groups[-1].append(choice)
    made = [_word(group, tokenizer) for group in groups]
    made = [word for word in made if word.text]
    return tuple(made) if [word.text for word in made] == text.split() else ()


def _word(choices: Sequence[Choice], tokenizer: Any) -> Word:
    spoken = [logprob for token, logprob in choices if _says(tokenizer.decode([token]))]
    logprob = sum(spoken or [logprob for _, logprob in choices])
    text = tokenizer.decode([token for token, _ in choices]).strip()
    return Word(text, float(np.exp(logprob)))


def _says(piece: str) -> bool:
    return any(sign.isalnum() or sign == _UNFINISHED for sign in piece)


def _logprob(step: Any, token: int) -> float:
    """Return the token's log-probability among a step's scores, a StorageView of (1, tokens)."""
    import ctranslate2  # noqa: PLC0415 - heavy, and loaded by now

    if step.device != "cpu":
        step = step.to_device(ctranslate2.Device.cpu)
    # A GPU may compute in bfloat16, which NumPy does not have.
    scores = np.asarray(step.to(ctranslate2.DataType.float32)).ravel()
    # Subtract the maximum, so that exp cannot overflow.
    scores = scores - scores.max()
    return float(scores[token] - np.log(np.exp(scores).sum()))
