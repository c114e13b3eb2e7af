"""A pair as it is learnt from: two texts, where they come from, and how far they can be trusted.

A line of a file of pairs has the texts under the names of their languages (`en`, `es`) and all
other fields under their own names, so that other programs can use it without knowing ours.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal, TypeAlias

import orjson
from pydantic import TypeAdapter

from pipeline.core.errors import LearningError, ProtocolError
from pipeline.core.files import write_whole
from pipeline.protocol.codec import parse_json
from pipeline.records.quality import THRESHOLDS, Flag
from pipeline.text.words import words

Origin: TypeAlias = Literal["auto", "operator", "review", "general"]
"""Who vouches for a pair: the score, an operator's edit, a review, or a corpus from elsewhere."""

Status: TypeAlias = Literal["accepted", "moderate", "review", "rejected"]
"""What becomes of a pair: it is learnt from, spot-checked, put before a person, or left."""

Tier: TypeAlias = Literal["", "accepted", "diversity", "general"]


@dataclass(frozen=True, slots=True, kw_only=True)
class LearningPair:
    """A pair of texts. Scores are 0..1, None where nothing could be measured."""

    session_id: str
    """The session's name; empty for a pair that is of no session."""
    id: int = 0
    """The utterance."""
    timestamp: str = ""
    """When the caption was shown."""
    source_lang: str
    text: str
    """What was said; in files under the language's name."""
    heard: str = ""
    """As it was recognized, before the dictionary and any correction."""
    target_lang: str
    translation: str
    """In files under the language's name."""
    source: Origin
    status: Status
    tier: Tier = ""
    weight: float = 1.0
    """How much it counts in training, 1 on average."""
    quality_score: float | None = None
    stt_confidence: float | None = None
    translation_qe: float | None = None
    marian_agreement: float | None = None
    flags: tuple[Flag, ...] = ()
    obstacle: str = ""
    """Why its score alone does not let it be learnt from; "" if nothing is in the way."""
    engine: str = ""
    """Who made the translation."""
    model: str = ""
    """Its model file."""
    model_sha256: str = ""
    terms: tuple[str, ...] = ()
    """Church terms in the source text."""
    speaker: str = ""
    reviewer: str = ""
    audio: str = ""
    """File of its sound in the data folder's `audio`; empty if none was kept."""
    start_s: float = 0.0
    end_s: float = 0.0

    @property
    def translator(self) -> str:
        """The translator and its language: scores are compared within these only."""
        return f"{self.model_sha256 or self.engine} {self.target_lang}"

    @property
    def certainty(self) -> float | None:
        """How sure the translators are of the translation, 0..1, whatever was heard."""
        if self.translation_qe is None:
            return None
        if self.marian_agreement is None:
            return self.translation_qe
        estimate, agreement = THRESHOLDS.estimate_weight, THRESHOLDS.agreement_weight
        told = estimate * self.translation_qe + agreement * self.marian_agreement
        return round(told / (estimate + agreement), 4)

    @property
    def key(self) -> tuple[str, str]:
        """Both texts without case and punctuation: equal for what is the same pair."""
        return " ".join(words(self.text)), " ".join(words(self.translation))


_PAIR = TypeAdapter(LearningPair)


def pair_line(pair: LearningPair) -> bytes:
    """Return a pair as a line of a file."""
    fields = asdict(pair)
    text, translation = fields.pop("text"), fields.pop("translation")
    named = {pair.source_lang: text, pair.target_lang: translation}
    return orjson.dumps(named | fields, option=orjson.OPT_APPEND_NEWLINE)


def parse_line(line: bytes) -> LearningPair:
    """Read back a line of a file of pairs. Raises ProtocolError."""
    try:
        fields = orjson.loads(line)
        source, target = fields["source_lang"], fields["target_lang"]
        fields |= {"text": fields.pop(source), "translation": fields.pop(target)}
    except (ValueError, KeyError, TypeError) as error:
        raise ProtocolError("bad-json", f"This is no pair: {error}.") from None
    # Once more as JSON: of Python's own values a list is no tuple.
    return parse_json(_PAIR, orjson.dumps(fields))


def read_pairs(path: Path) -> list[LearningPair]:
    """Return the pairs of a file, none if there is no file. Raises LearningError."""
    try:
        lines = path.read_bytes().splitlines() if path.exists() else []
    except OSError as error:
        raise LearningError("pairs-unreadable", f"{path}: {error.strerror}.") from None
    pairs = []
    for number, line in enumerate(lines, 1):
        try:
            pairs.append(parse_line(line))
        except ProtocolError as error:
            raise LearningError(
                "pairs-unreadable",
                f"{path}, line {number}: {error.message}",
                "Delete the file and run `stark-translate learn collect` again.",
            ) from None
    return pairs


def write_pairs(path: Path, pairs: Iterable[LearningPair]) -> None:
    """Write a file of pairs in one piece. Raises OSError."""
    write_whole(path, b"".join(pair_line(pair) for pair in pairs))
