"""Accept pairs for training without a person: they have no obstacle and pass the score's bar.

Scores of different translators are not comparable: the mean token probability of a small model is
far lower than that of a large one or of CometKiwi. So each translator has its own bar on its
confidence (`LearningPair.certainty`). With at least 100 reviewed captions of a translator, 20 of
them wrong, the reviews set it: the lowest bar with at most 3 % wrong above it. The bars of the
shipped starters were fitted in the same way (`training.train.train_doubt`). Any other translator
has the specified 0.85 of the whole score, or the score of its best 40 % if that is higher. Only
reviews lower a bar: a worse translator does not get an easier one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import orjson
from pydantic import TypeAdapter

from pipeline.core.errors import LearningError, ProtocolError, reading
from pipeline.core.resources import bundled
from pipeline.learning.data.pairs import LearningPair
from pipeline.learning.fitting import is_enough, lowest_bar
from pipeline.protocol.codec import parse_json
from pipeline.records.utterance import UtteranceRecord
from pipeline.text.sentences import is_ended
from pipeline.text.words import WORD

START = 0.85
# Separate from other obstacles: an operator's edit does not remove these two.
HALF, MISHEARD = "half a sentence", "perhaps misheard"
# A lower share would need far more reviews to fit a bar.
MOST_WRONG = 0.03
"""Largest share of wrong pairs among the accepted."""
_BEST = 0.4
_ENOUGH = 50
"""Captions needed to know the best 40 %."""
_MIDDLING = 0.1
"""Pairs within this distance below the bar are spot-checked."""
_MISHEARD = 0.5
"""A word with a lower probability is as likely wrong as right."""
SHIPPED = ("models", "starter", "acceptance.json")
_SCALES = ("estimate:", "agreement:")
"""Flags whose limits are the same for all translators, and say little about most of them."""
_BARS = TypeAdapter(dict[str, float])


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """The lowest accepted score of a translator's pairs, and its reason."""

    accept: float
    reason: str
    captions: int
    reviewed: int
    own_scale: bool
    """Whether the bar is on the certainty, fitted to this translator; else it is on the score."""


_READ = TypeAdapter(dict[str, Bar])


def obstacle(record: UtteranceRecord, text: str, following: UtteranceRecord | None) -> str:
    """Return why a pair cannot be accepted by its score, "" if it can.

    `text` is the source after edits and review, `following` the next utterance.
    """
    unchanged = text == record.text
    # First: half a sentence stays half, however confident the recognition and translation are.
    if _is_half(text, following.text if following else ""):
        return HALF
    # The recognizer's doubt concerns its own text: an edited text was heard by a person.
    if unchanged and any(word.probability < _MISHEARD for word in record.words):
        return MISHEARD
    if record.is_doubtful or any(check.outcome == "doubtful" for check in record.checks):
        return "doubtful translation"
    if record.quality and record.quality.excluded:
        return record.quality.excluded[0]
    heard = [flag for flag in record.flags if not flag.startswith(_SCALES)]
    return heard[0] if heard else ""


def is_spoken(record: UtteranceRecord) -> bool:
    """Whether somebody spoke: there is no right text for a hallucination of the recognizer."""
    excluded = record.quality.excluded if record.quality else ()
    return not {"no-speech-prob", "compression-ratio"} & set(excluded)


def find_bars(
    pairs: Iterable[LearningPair],
    judged: Iterable[tuple[str, float, bool]],
    before: Mapping[str, Bar],
    shipped: Mapping[str, float],
) -> dict[str, Bar]:
    """Return the bar of each translator.

    `judged` has the translator, the certainty and whether it was wrong for each caption that a
    person has judged. `before` are the bars of the last collection, `shipped` those that came with
    the program.
    """
    scores: dict[str, list[float]] = {}
    for pair in pairs:
        if pair.source == "auto" and pair.quality_score is not None:
            # Counted as 0, not left out: the best 40 % are of all captions.
            score = 0.0 if pair.obstacle else pair.quality_score
            scores.setdefault(pair.translator, []).append(score)
    decided: dict[str, list[tuple[float, bool]]] = {}
    for name, score, is_wrong in judged:
        decided.setdefault(name, []).append((score, is_wrong))
    return {
        name: _bar(scores.get(name, []), decided.get(name, []), before.get(name), shipped.get(name))
        for name in sorted({*scores, *decided})
    }


def with_bar(pair: LearningPair, bars: Mapping[str, Bar]) -> LearningPair:
    """Return a pair with the status from its translator's bar; a person's decision stays."""
    # No score overrules a person's decision.
    if pair.source != "auto" or pair.status == "rejected":
        return pair
    bar = bars.get(pair.translator)
    score = pair.certainty if bar and bar.own_scale else pair.quality_score
    # With a bar of its own, flags by limits common to all translators mean nothing.
    flagged = bar is not None and not bar.own_scale and bool(pair.flags)
    if pair.obstacle or bar is None or score is None or flagged:
        return replace(pair, status="review")
    if score >= bar.accept:
        return replace(pair, status="accepted")
    return replace(pair, status="moderate" if score >= bar.accept - _MIDDLING else "review")


def without_contradictions(pairs: Sequence[LearningPair]) -> list[LearningPair]:
    """Return the pairs; those that contradict a person or each other get the status "review".

    If two translations of one sentence have only a score, it is unknown which is right.
    """
    by_source: dict[tuple[str, str], dict[str, bool]] = {}
    for pair in pairs:
        if pair.status == "accepted":
            approved = by_source.setdefault((pair.target_lang, pair.key[0]), {})
            # True as soon as one person has approved it: that translation wins against all scores.
            approved[pair.key[1]] = approved.get(pair.key[1], False) or pair.source != "auto"
    made = []
    for pair in pairs:
        approved = by_source.get((pair.target_lang, pair.key[0]), {})
        others = {key for key in approved if key != pair.key[1]}
        contradicted = others and not approved.get(pair.key[1], False)
        if contradicted and pair.source == "auto" and pair.status in ("accepted", "moderate"):
            pair = replace(pair, status="review", obstacle="contradicted")  # noqa: PLW2901
        made.append(pair)
    return made


def read_bars(path: Path) -> dict[str, Bar]:
    """Return the bars of the last collection; {} if there are none, or of an old version."""
    try:
        return parse_json(_READ, path.read_bytes()) if path.exists() else {}
    # Not an error: without the old bars the lowest ones apply, and reviews fit theirs again.
    except (OSError, ProtocolError):
        return {}


def shipped_bars() -> dict[str, float]:
    """Return the bars of the translators that ship, by SHA-256 and language.

    Raises LearningError.
    """
    path = bundled(*SHIPPED)
    fix = "Install the program again."
    with reading(path, LearningError, "bars-unreadable", fix, (ProtocolError,)):
        return parse_json(_BARS, path.read_bytes()) if path.exists() else {}


def write_shipped(path: Path, bars: Mapping[str, float]) -> None:
    """Write the bars of translators that ship. Raises OSError."""
    options = orjson.OPT_INDENT_2 | orjson.OPT_SORT_KEYS | orjson.OPT_APPEND_NEWLINE
    path.write_bytes(orjson.dumps(dict(bars), option=options))


def _bar(
    scores: Sequence[float],
    decided: Sequence[tuple[float, bool]],
    before: Bar | None,
    shipped: float | None,
) -> Bar:
    def bar(accept: float, reason: str, *, own_scale: bool = True) -> Bar:
        accept = round(accept, 4)
        return Bar(
            accept=accept,
            reason=reason,
            captions=len(scores),
            reviewed=len(decided),
            own_scale=own_scale,
        )

    if is_enough(decided):
        fitted = lowest_bar(decided, MOST_WRONG)
        # None: even the best-scored pairs are too often wrong, so use another bar.
        if fitted is not None:
            return bar(fitted, f"at most {MOST_WRONG:.0%} of what was reviewed is wrong above it")
    if shipped is not None:
        return bar(shipped, "as fitted to this translator before it shipped")
    if len(scores) < _ENOUGH:
        return bar(START, f"fewer than {_ENOUGH} captions yet", own_scale=False)
    found = sorted(scores)[int(len(scores) * (1 - _BEST))]
    lowest = max(START, before.accept if before and not before.own_scale else START)
    if found > lowest:
        return bar(found, f"the best {_BEST:.0%} of its captions", own_scale=False)
    return bar(lowest, "as specified; only reviews lower it", own_scale=False)


def _is_half(text: str, following: str) -> bool:
    """Whether a text begins or ends within a sentence; recognizers continue in lower case."""
    first = WORD.search(text)
    after = WORD.search(following)
    begun = first is None or not first[0][0].islower()
    goes_on = after is not None and after[0][0].islower()
    return not begun or not is_ended(text) or goes_on
