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
"""Whisper's features span 80 dB, which are 2.0 in its units; what is softer counts as silence."""
_SILENCE = -1.5
"""The feature of digital silence where nothing else is heard."""
_TOKENS_A_SECOND = 12
_MAX_TOKENS = 220
"""Whisper decodes 448 tokens in all; hot words and the start of the prompt take up to 228."""
_MORE_TOKENS = 16
"""So many may follow a forced beginning, however long that is for the audio."""
_TAIL_S = 0.2
"""Most audio that the segmenter keeps behind the last speech."""
_TRANSLATION_BEAM = 5
"""Translating is more of a guess than hearing is: one path alone loses its way."""
_MOST_COPIED = 0.4
"""Share of words that a translation may have in common with what was said: names, "no", "hospital".
"""
_LOOKS = 3
"""How often, at most, what was left out is decoded; each look begins behind the one before."""

_PERHAPS_GPU = frozenset({"gpu-unavailable", "compute-type-unsupported", "model-broken"})
"""Codes of what a GPU, its driver or its libraries may be to blame for."""
_SPACE = "Ġ"  # how byte-level BPE writes the space that begins a word
_UNFINISHED = "\ufffd"  # a letter of which a token holds some bytes only

Choice: TypeAlias = tuple[int, float]
"""A token and its log-probability, given all before it."""


@dataclass(frozen=True, slots=True)
class _Heard:
    """One decoding: what it gave, and what the alignment of its tokens needs."""

    recognition: Recognition
    tokens: list[int]
    encoded: Any
    frames: int


class Whisper:
    """A Recognizer on the model, the features and the tokenizer of `faster_whisper`.

    `model` is the folder of a CTranslate2 model, `lang` the spoken language,
    `window_s` the shortest stretch that is encoded, `hotwords` words to listen for (they may be
    changed between calls; the model sees the first 223 tokens of them). Finals
    tell how sure the model is of each word. `section`: see `EngineSpec`.

    `also_spoken` are further languages: then each recognition tells how likely each of them is,
    and `lang` says which of them is to be heard. Finals of those in `to_english` come with the
    model's own translation.
    """

    degraded_reason = ""
    """Why it is not on the GPU that was asked for; empty when all is as it should be."""

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
        """Whether the model can tell when a word was spoken, which the lost-tail guard needs."""
        self.hotwords = hotwords
        self.lang = lang
        self.is_cancelled: Callable[[], bool] = never

    @property
    def name(self) -> str:
        """Engine and model."""
        return f"whisper:{self._path.name}"

    @property
    def gpu_layers(self) -> int:
        """-1, for all, when it has loaded on a GPU, 0 on the CPU."""
        return 0 if self._model is None or self._model.model.device == "cpu" else -1

    def load(self) -> None:
        """Load the model and transcribe a second of silence. Raises ModelError.

        Where the GPU that was asked for cannot be used, the model runs on the CPU in INT8.
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
        # One for each language, whose token stands in the prompt; all use the one model.
        self._tokenizers = {
            lang: Tokenizer(model.hf_tokenizer, multilingual, "transcribe", lang)
            for lang in self._spoken
        }
        # -1 stands for Whisper's own list: signs that nobody speaks.
        self._suppressed = list(get_suppressed_tokens(self._tokenizer, [-1]))
        try:
            # Weights may load and not compute: better known now than at the first sentence.
            self.recognize(np.zeros(SAMPLE_RATE, np.float32), final=True)
        except EngineError as error:
            raise ModelError("model-broken", f"{key}: {error.message}") from error

    @property
    def _tokenizer(self) -> Any:
        """That of the language to be heard."""
        return self._tokenizers[self.lang or self._spoken[0]]

    def recognize(self, pcm: Pcm, *, final: bool, prefix: Sequence[int] = ()) -> Recognition:
        """Return the text of `pcm`, shape (n,). Raises EngineError `stt-failed`, and
        EngineCancelledError between encoding, decoding and alignment.

        Only finals tell of their words, and only finals are searched for a lost tail. Only partials
        tell of their tokens, and begin with `prefix`: a final is free to hear it all anew.
        """
        if not pcm.size:
            return Recognition("")
        try:
            # A longer one is cut, and tells no tokens: the times of each cut begin anew.
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
        """Return what the model itself makes of the sound in English; "" if that is not English.

        It now and then goes over to the words that it hears.
        """
        self._go_on()
        tokenizer = self._tokenizer
        # The token of the language, of which a model for English alone has none.
        prompt = [tokenizer.sot, *tokenizer.sot_sequence[1:2], tokenizer.translate]
        (result,) = self._model.model.generate(
            heard.encoded,
            [[*prompt, tokenizer.no_timestamps]],
            beam_size=_TRANSLATION_BEAM,
            # All of the beam: the best of them that does not repeat what was said is taken.
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
        # Those behind it in the vocabulary are signs, such as times, and no text.
        ids = [token for token in heard.tokens if token < self._tokenizer.eot]
        pieces = [self._tokenizer.decode([token]) for token in ids]
        length = len(heard.recognition.text)
        # Whole beginnings, not the sum of pieces: a letter of several bytes may be cut in two.
        until = (
            # The text has no space around it, its tokens may.
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

        It begins with the tokens `prefix`.
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
            # Of a longer one there is too little left to hear anything with.
            max_length=len(prompt) + max(most, min(_MAX_TOKENS, len(prefix) + _MORE_TOKENS)),
            return_scores=True,
            return_no_speech_prob=True,
            # A score for each of some 50,000 tokens at each step: only where words are told.
            return_logits_vocab=telling,
            # It forbids to end at once, and nothing more need follow committed words.
            suppress_blank=not prefix,
            suppress_tokens=self._suppressed,
        )
        made = result.sequences_ids[0]
        # CTranslate2 repeats a forced beginning in its result, or does not: that is its affair.
        tokens = made if made[: len(prefix)] == prefix else [*prefix, *made]
        text = self._tokenizer.decode(tokens).strip()
        # The score is the sum over what was not forced, over all tokens of the result; Whisper's
        # own measure is the mean, and counts the end as one too.
        avg_logprob = result.scores[0] * len(made) / (len(tokens) - len(prefix) + 1)
        # Committed words were heard in this language already, where there is no other.
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
        """Return how likely the expected language is spoken, None if the model knows no other; and
        of several the share of each.
        """
        if not self._model.model.is_multilingual:
            return None, ()
        (found,) = self._model.model.detect_language(encoded)
        by_lang = {sign.strip("<|>"): float(share) for sign, share in found}
        expected = by_lang.get(self.lang or self._spoken[0], 0.0)
        if len(self._spoken) == 1:
            return expected, ()
        spoken = {lang: by_lang.get(lang, 0.0) for lang in self._spoken}
        # Whatever else it might be: one of these is what is spoken here.
        total = sum(spoken.values()) or 1.0
        return expected, tuple((lang, round(share / total, 4)) for lang, share in spoken.items())

    def _with_tail(self, pcm: Pcm, heard: _Heard) -> Recognition:
        """Return what was heard and, decoded by itself, what was left out behind its last word."""
        parts: list[Recognition] = []
        lost_s = 0.0
        for _ in range(_LOOKS):
            word = self._last_word(heard)
            left_s = pcm.size / SAMPLE_RATE - _TAIL_S - word.end_s if word is not None else 0.0
            if word is None or left_s <= LOST_S:
                break
            # What the first look has missed; the later ones look for a part of it.
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
        """Return the last word and when it was spoken, by forced alignment of the tokens."""
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
        """Return whether the model can align; its conversion may not name the heads that do."""
        heard = self._decode(np.zeros(SAMPLE_RATE, np.float32), self._window_s, telling=False)
        try:
            # Any token will do: it shows whether the model can.
            self._last_word(replace(heard, tokens=[0]))
        except RuntimeError as error:
            log.info("no lost-tail guard", model=str(self._path), why=str(error))
            return False
        return True


def _most_tokens(pcm: Pcm) -> int:
    return min(_MAX_TOKENS, 16 + int(_TOKENS_A_SECOND * pcm.size / SAMPLE_RATE))


def padded(features: NDArray[np.float32], frames: int) -> NDArray[np.float32]:
    """Return `features`, shape (mels, n), as (mels, frames), with silence behind what is there.

    Silence is what the features of digital silence in the same recording would be: as far below
    the loudest as they reach. Zeros, with which faster-whisper pads, are a loud and steady hiss:
    in a window of 30 s Whisper puts up with it, in a shorter one it loses full stops and ends.
    """
    out = np.full(
        (len(features), frames), max(float(features.max()) - _RANGE, _SILENCE), np.float32
    )
    kept = features[:, :frames]
    out[:, : kept.shape[1]] = kept
    return out


def window_frames(content: int, floor: int, n_mels: int) -> int:
    """Return how many frames to encode: at least `floor`, the content and 2 s, at most 30 s.

    Even, because the encoder halves it. Never twice the mel bands: CTranslate2 would take the
    encoder's output, (n_mels, width), for unencoded features and encode it once more.
    """
    frames = max(floor, content + round(_MARGIN_S * _FRAMES_A_SECOND))
    frames += frames % 2
    return min(frames + 2 if frames == 2 * n_mels else frames, _MAX_FRAMES)


def choices(result: Any) -> list[Choice]:
    """Return what a `WhisperGenerationResult` chose; it must hold the logits of each step.

    faster-whisper's own word probabilities cost another pass of the decoder.
    """
    # There is one step more than tokens: the end of the text.
    steps = zip(result.sequences_ids[0], result.logits[0], strict=False)
    return [(token, _logprob(step, token)) for token, step in steps]


def words(choices: Sequence[Choice], text: str, tokenizer: Any) -> tuple[Word, ...]:
    """Return the words of `text`, split at white space, with their probabilities.

    `tokenizer` is a `tokenizers.Tokenizer`. A word's probability is the product of its tokens',
    punctuation left out where there is anything else. Empty if the tokens do not make the text.
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
    # NumPy has no bfloat16, in which a GPU may compute.
    scores = np.asarray(step.to(ctranslate2.DataType.float32)).ravel()
    # Less the highest: exp of the others cannot overflow.
    scores = scores - scores.max()
    return float(scores[token] - np.log(np.exp(scores).sum()))
