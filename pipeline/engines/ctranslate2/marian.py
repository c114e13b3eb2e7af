"""Fast text to text: MarianMT on CTranslate2, sentence by sentence."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean
from typing import Any

from pipeline.church.fidelity.term_slots import words_in
from pipeline.core.errors import EngineError, ModelError
from pipeline.core.standing import TargetPart
from pipeline.core.terms import WantedTerm, by_part
from pipeline.core.types import Alternative, Translation
from pipeline.engines.ctranslate2.errors import explain, require
from pipeline.engines.output import join
from pipeline.engines.protocols import PLAIN, SentencePair, TranslationRequest, never
from pipeline.engines.specification import setting
from pipeline.engines.term_repair import repair, word_weights
from pipeline.text import repetition, sentences
from pipeline.text.commit_policy import regrouped

_FILES = ("model.bin", "config.json", "source.spm", "target.spm")
_LANGUAGE = ">>{}<<"
_IS_LANGUAGE = re.compile(r">>[\w-]+<<")
_MAX_PIECES = 80
"""Longest source per request. Models have 256 positions or more; the output cap stays below."""
_BEAM, _ALTERNATIVES = 8, 3
"""The beam size of a search, and how many hypotheses it returns."""


@dataclass(frozen=True, slots=True)
class _Known:
    """The committed prefix of a part: target pieces, and leading characters of the source."""

    pieces: tuple[str, ...]
    source: int


@dataclass(frozen=True, slots=True)
class _Before:
    """The source and target pieces of the previous sentence."""

    source: list[str]
    target: list[str]


class Marian:
    """A Translator on `ctranslate2.Translator`; `path` is the folder of a converted Marian model.

    `beam` is the beam size of a request without alternatives.
    A model for several target languages gets a language token before the text, such as `>>fr<<`, as
    OPUS-MT models do. If its vocabulary has none for `target`, the model has only that language.

    Most models were trained on single sentences, so each sentence is translated separately: nothing
    of a long text is lost, and later speech cannot change committed text. A model whose config.json
    has `joins_sentences` gets the previous sentence as context (docs/decisions/081).
    """

    name = "marian"
    degraded_reason = ""
    gpu_layers = 0
    deadline_s = math.inf

    def __init__(
        self, path: Path, *, threads: int = 1, section: str = "", beam: int = 1, target: str = ""
    ) -> None:
        """Take the settings. `section`: see `EngineSpec`."""
        self.target = target  # may change between calls
        self._path = path
        self._section = section
        self._threads = threads
        self._beam = beam
        self._translator: Any = None
        self._source: Any = None
        self._target: Any = None
        self._end: list[str] = []
        self._joins = False
        self._languages: frozenset[str] = frozenset()
        self.is_cancelled = never

    def load(self) -> None:
        """Load the model and translate a word. Raises ModelError."""
        # Before the libraries, whose import is slow: a wrong folder is reported at once.
        require(self._path, _FILES, self._section, "translation")
        import ctranslate2  # noqa: PLC0415 - heavy
        import sentencepiece  # noqa: PLC0415 - heavy

        try:
            self._translator = ctranslate2.Translator(
                str(self._path),
                device="cpu",
                compute_type="int8",
                # One request at a time: only threads within it help.
                inter_threads=1,
                intra_threads=self._threads,
            )
            pieces = sentencepiece.SentencePieceProcessor
            self._source = pieces(model_file=str(self._path / "source.spm"))
            self._target = pieces(model_file=str(self._path / "target.spm"))
            config = json.loads((self._path / "config.json").read_text(encoding="utf-8"))
            # The converter decides whether CTranslate2 appends the end token itself.
            self._end = [] if config.get("add_source_eos", False) else ["</s>"]
            self._joins = bool(config.get("joins_sentences", False))
            self._languages = self._language_tokens()
            # Weights may load but fail to compute: find out now, not at the first sentence.
            self.translate("Amen.")
        except EngineError as error:
            key = setting(self._section, "model")
            raise ModelError("model-broken", f"{key}: {error.message}") from error
        except Exception as error:
            raise explain(error, self._path, self._section, "translation") from error

    def translate(self, text: str, request: TranslationRequest = PLAIN) -> Translation:
        """Translate `text` without a draft; `on_text` gets the whole text once. Raises EngineError
        `marian-failed`.

        With `standing`, the translation begins with its pieces, and each part holds the data that
        a commit policy needs; closed parts are not translated again. Missing terms of `wanted` are
        inserted if the model does not find them too unlikely. With `rivals`, which `score` rates,
        it uses a beam search, and returns the alternatives of a text of one part.
        """
        beam = self._beam if request.rivals is None else _BEAM
        try:
            cut = [
                piece
                for sentence in sentences.split(text)
                for piece in sentences.pack(sentence, self._fits)
            ]
            parts = list(self._parts(text, cut, request, beam))
        except Exception as error:
            raise EngineError("marian-failed", f"{self.name}: {error}.") from error
        whole = join(self.name, parts)
        if request.on_text is not None and whole.text:
            request.on_text(whole.text)
        return whole

    def score(
        self, text: str, targets: Sequence[str], previous: SentencePair | None = None
    ) -> list[tuple[float, float]]:
        """See `Scorer`. Raises EngineError `marian-failed`, also if a damaged model returns values
        that are not finite.
        """
        try:
            found = self._logprobs(text, targets, self._before(text, previous))
        except Exception as error:
            raise EngineError("marian-failed", f"{self.name}: {error}.") from error
        if not all(logprobs and all(map(math.isfinite, logprobs)) for logprobs in found):
            raise EngineError("marian-failed", f"{self.name}: it gives a translation no score.")
        return [(fmean(logprobs), min(logprobs)) for logprobs in found]

    def _logprobs(self, text: str, targets: Sequence[str], before: _Before) -> list[list[float]]:
        """Return the log-probabilities of each translation's tokens."""
        source = self._asked(before.source + self._source.encode(text, out_type=str))
        pieces = [before.target + each for each in self._target.encode(list(targets), out_type=str)]
        scored = self._translator.score_batch([source] * len(pieces), pieces)
        # The score of the previous sentence is the same for all.
        return [each.log_probs[len(before.target) :] for each in scored]

    def _parts(
        self, text: str, cut: Sequence[str], request: TranslationRequest, beam: int
    ) -> Iterator[Translation]:
        """Translate the parts of `text`, each from its committed prefix."""
        standing = request.standing
        forced = regrouped(standing.pieces, len(cut)) if standing else ()
        # The last part may continue, even if all of it is committed.
        closed = min(standing.closed, len(cut) - 1) if standing else 0
        previous = request.previous
        for place, (part, start, terms) in enumerate(by_part(text, cut, request.wanted)):
            pieces = forced[place] if place < len(forced) else ()
            if place < closed and pieces:
                whole = TargetPart(pieces, self._until(pieces), (), 0, is_whole=True)
                made = Translation(self._target.decode(list(pieces)), self.name, parts=(whole,))
                previous = SentencePair(part, made.text)
                yield made
                continue
            known = None
            if standing is not None:
                known = _Known(pieces, max(0, min(standing.source - start, len(part))))
            made = self._part(part, known, terms, beam, self._before(part, previous))
            previous = SentencePair(part, made.text) if made.stopped == "end" else None
            yield made

    def _before(self, text: str, previous: SentencePair | None) -> _Before:
        """Return the pieces of the sentence before `text`, none if the model cannot use them."""
        if previous is None or not (self._joins and self._fits(f"{previous.source} {text}")):
            return _Before([], [])
        return _Before(
            self._source.encode(previous.source, out_type=str),
            self._target.encode(previous.target, out_type=str),
        )

    def _part(
        self,
        text: str,
        known: _Known | None,
        wanted: Sequence[WantedTerm],
        beam: int,
        before: _Before,
    ) -> Translation:
        source = before.source + self._source.encode(text, out_type=str)
        prefix = before.target + (list(known.pieces) if known else [])
        # CTranslate2 counts the prefix as well: it must not shorten the rest.
        cap = 20 + int(2.5 * len(source)) + len(prefix)
        # The prefix is decoded step by step. `return_alternatives` would read it at once, but then
        # it returns no attention and never ends right after the prefix (CTranslate2 4.8.5).
        result = self._translator.translate_batch(
            [self._asked(source)],
            target_prefix=[prefix] if prefix else None,
            beam_size=beam,
            # CTranslate2 refuses more hypotheses than the beam holds.
            num_hypotheses=min(beam, _ALTERNATIVES),
            max_decoding_length=cap,
            return_scores=True,
            return_attention=known is not None or bool(wanted),
        )[0]
        pieces = result.hypotheses[0][len(before.target) :]
        # "Holy, holy, holy" is no loop: the translation may repeat as often as the source.
        repeats = repetition.longest(repetition.words(text)).count
        loop = repetition.anywhere(pieces, repeats)
        kept = pieces if loop is None else repetition.cut(pieces, loop, repeats)
        is_cut = len(result.hypotheses[0]) >= cap
        made = Translation(
            text=self._target.decode(kept),
            engine=self.name,
            tokens=len(pieces),
            avg_logprob=result.scores[0] if result.scores else None,
            stopped="loop" if loop else "length" if is_cut else "end",
            alternatives=self._alternatives(result, before),
        )
        if wanted:
            made = self._with_terms(text, made, self._attention(result, before), kept, wanted)
        if known is None:
            return made
        target_part = TargetPart(
            pieces=tuple(kept),
            until=self._until(kept),
            looked_at=tuple(
                max(range(len(row)), key=row.__getitem__) for row in self._attention(result, before)
            ),
            # Attention is per piece, but the committed source is counted in characters.
            settled=len(self._source.encode(text[: known.source])),
            is_whole=known.source == len(text),
        )
        return replace(made, parts=(target_part,))

    def _alternatives(self, result: Any, before: _Before) -> tuple[Alternative, ...]:
        if len(result.hypotheses) == 1:
            return ()
        own = [pieces[len(before.target) :] for pieces in result.hypotheses]
        found = zip(map(self._target.decode, own), result.scores, strict=True)
        return tuple(Alternative(text, score, score) for text, score in found)

    def _with_terms(
        self,
        text: str,
        made: Translation,
        attention: Sequence[Sequence[float]],
        pieces: Sequence[str],
        wanted: Sequence[WantedTerm],
    ) -> Translation:
        def weigh(term: WantedTerm) -> list[float]:
            # A term's place is in characters, but attention is per piece.
            first, end = (
                len(self._source.encode(text[:place])) for place in (term.start, term.end)
            )
            looks = [sum(row[first:end]) for row in attention]
            return word_weights(words_in(made.text), self._until(pieces), looks)

        def score(texts: Sequence[str]) -> list[float]:
            return [fmean(each) for each in self._logprobs(text, texts, _Before([], []))]

        done = repair(
            made.text, made.avg_logprob or 0.0, wanted, said=text, weigh=weigh, score=score
        )
        return replace(made, text=done.text, repairs=done.repairs)

    def _until(self, pieces: Sequence[str]) -> tuple[int, ...]:
        """Return the length in characters of the text up to the end of each piece."""
        # Decodes whole prefixes: a single piece is decoded without the space before it.
        beginnings = [list(pieces[: count + 1]) for count in range(len(pieces))]
        return tuple(map(len, self._target.decode(beginnings))) if beginnings else ()

    def _asked(self, source: list[str]) -> list[str]:
        """Return the model's input: the token of the target language, the text, an end token."""
        token = _LANGUAGE.format(self.target)
        return [token] * (token in self._languages) + source + self._end

    def _attention(self, result: Any, before: _Before) -> list[Sequence[float]]:
        """Return the attention of each target piece to each source piece."""
        # The rows begin with the language token, which is not part of the text.
        first = len(self._asked([])) - len(self._end) + len(before.source)
        rows = result.attention[0][len(before.target) :] if result.attention else ()
        return [row[first:] for row in rows]

    def _language_tokens(self) -> frozenset[str]:
        """Return the model's language tokens; most models have one target language and none."""
        # There is one vocabulary if both languages share it, else two.
        listed = self._path / "shared_vocabulary.json"
        if not listed.exists():
            listed = self._path / "source_vocabulary.json"
        pieces = json.loads(listed.read_text(encoding="utf-8")) if listed.exists() else ()
        return frozenset(piece for piece in pieces if _IS_LANGUAGE.fullmatch(piece))

    def _fits(self, text: str) -> bool:
        return len(self._source.encode(text)) <= _MAX_PIECES
