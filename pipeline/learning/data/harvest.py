"""A session read for learning: its pairs after edits and review, and its scores.

The sources are the session's records, its journal and the decisions of a review. Sessions of
earlier versions give what they have.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import orjson
from pydantic import TypeAdapter

from pipeline.core.errors import LearningError, ProtocolError, reading
from pipeline.core.files import write_whole
from pipeline.evaluation.rescore import QualityRecord
from pipeline.learning.data.acceptance import HALF, MISHEARD, is_spoken, obstacle
from pipeline.learning.data.pairs import LearningPair, Origin, Status
from pipeline.learning.data.terms import terms_in
from pipeline.protocol.codec import parse_json
from pipeline.records.events import ModelsEvent, ModelUsed
from pipeline.records.utterance import UtteranceRecord
from pipeline.review.store import Reviewed, read_decisions
from pipeline.session.reader import Session, read_session_lines
from pipeline.session.recordings import recording_path
from pipeline.session.training_pairs import OPERATOR, Pair, follow_edit, operator_edits, pair_of

SCORED = "quality.jsonl"
_QUALITY = TypeAdapter(QualityRecord)


@dataclass(frozen=True, slots=True)
class Harvest:
    """What a session gives."""

    pairs: tuple[LearningPair, ...]
    """All but those that a person has rejected or hidden, and those without speech."""
    spoken: tuple[tuple[str, str], ...]
    """(heard, said) where a rule of the dictionary or a reviewer has corrected what was heard."""
    audio_s: float
    """Speech, in seconds."""
    is_demo: bool
    judged: tuple[tuple[str, float, bool], ...] = ()
    """Of each caption that a person has judged: translator, certainty, whether it was wrong."""
    corrected: tuple[tuple[str, str], ...] = ()
    """(heard, said) of each caption that a reviewer has corrected."""
    reviewed_utc: str = ""
    """When the last of them was reviewed."""

    def count(self, status: Status) -> int:
        """Return how many pairs have a status."""
        return sum(pair.status == status for pair in self.pairs)


def harvest(folder: Path, terms: Sequence[str], speaker: str = "") -> Harvest:
    """Return what a session gives. `terms` are the church's words. Raises SessionError."""
    session = Session(folder)
    edits = operator_edits(session.messages)
    hidden = {message.id for message in session.messages} - {m.id for m in session.captions}
    decisions = read_decisions(folder)
    models = _models(session)
    judged = scored(folder)
    pairs: list[LearningPair] = []
    verdicts: list[tuple[str, float, bool]] = []
    # Before pairs are made: their score and flags are those of the last judgement.
    records = [_rejudged(given, judged.get(given.id)) for given in session.shown]
    for number, record in enumerate(records):
        pair = pair_of(record, session.name, session.langs["target"])
        decided = decisions.get(record.id)
        # What an operator hid, and nobody has judged since, was wrong in some way.
        is_judged = decided is not None and decided.outcome != "open"
        if pair is None or (record.id in hidden and not is_judged):
            continue
        if record.id in edits:
            # None of an edit that hides: it is here only because a review has judged it since.
            pair = follow_edit(pair, edits[record.id]) or pair
        # Asked for the end of a sentence: one that goes on in the next caption is half.
        following = records[number + 1] if number + 1 < len(records) else None
        hindered = obstacle(record, pair.source, following)
        origin, status, kept = _outcome(pair, decided, hindered)
        # The spoken words stand in for a translation, and the reviewer has not made one.
        is_copy = origin == "review" and kept.engine == "source" and kept.target == pair.target
        # Or it is not known in which language: its line would have one text only.
        if is_copy or kept.target_lang == kept.source_lang:
            continue
        sound = recording_path(folder, record.id)
        used = models.get(pair.engine, _NO_MODEL)
        made = LearningPair(
            session_id=session.name,
            id=kept.id,
            timestamp=kept.utc,
            source_lang=kept.source_lang,
            text=kept.source,
            heard=kept.raw_source,
            target_lang=kept.target_lang,
            translation=kept.target,
            source=origin,
            status=status,
            quality_score=kept.score,
            stt_confidence=kept.stt_confidence,
            translation_qe=kept.translation_qe,
            marian_agreement=kept.marian_agreement,
            flags=kept.flags,
            obstacle=hindered,
            engine=kept.engine,
            # By who made the text: an operator has no model.
            model=used.file,
            model_sha256=used.sha256,
            terms=terms_in(kept.source, terms),
            speaker=speaker,
            reviewer=kept.reviewer or "",
            audio=f"{session.name}-{kept.id:06}.flac" if sound.is_file() else "",
            start_s=kept.start_s,
            end_s=kept.end_s,
        )
        if decided and is_judged and made.certainty is not None:
            # What had to be corrected was not good as it was.
            verdicts.append((made.translator, made.certainty, decided.outcome != "approved"))
        if status != "rejected" and (origin != "auto" or is_spoken(record)):
            pairs.append(made)
    shown = session.shown
    by_id = {record.id: record for record in shown}
    return Harvest(
        pairs=tuple(pairs),
        judged=tuple(verdicts),
        corrected=tuple(
            (by_id[key].raw_text, told.source)
            for key, told in decisions.items()
            if told.outcome == "corrected" and key in by_id
        ),
        reviewed_utc=max((told.utc for told in decisions.values()), default=""),
        spoken=tuple(_spoken(shown, decisions)),
        audio_s=sum(record.end_s - record.start_s for record in shown),
        # Of nothing `all` is true: a service without captions is no demo.
        is_demo=bool(shown) and all(record.mode == "demo" for record in shown),
    )


def write_harvest(path: Path, found: Harvest) -> None:
    """Keep what a session gave. Raises OSError."""
    write_whole(path, orjson.dumps(found, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE))


def read_harvest(path: Path) -> Harvest:
    """Return what a session gave when it was collected. Raises LearningError."""
    fix = "Delete it and its session's lines in ledger.jsonl, and collect again."
    with reading(path, LearningError, "harvest-unreadable", fix, (ProtocolError,)):
        return parse_json(_HARVEST, path.read_bytes())


def _outcome(pair: Pair, decided: Reviewed | None, hindered: str) -> tuple[Origin, Status, Pair]:
    """Return who vouches for a pair, its status, and the pair after edits and review."""
    match decided.outcome if decided else "open":
        case "approved" | "corrected" if decided:
            told = replace(
                pair, source=decided.source, target=decided.target, reviewer=decided.reviewer
            )
            return "review", "accepted", told
        case "rejected":
            return "review", "rejected", pair
    # A review comes first: it is done in peace, an edit in the middle of a service.
    if pair.engine == OPERATOR:
        # An operator has vouched for the translation, and for what was said only where that is new.
        misheard = hindered in (HALF, MISHEARD)
        return "operator", "review" if misheard else "accepted", pair
    return "auto", "review", pair  # until its translator's bar is known


_HARVEST = TypeAdapter(Harvest)
_NO_MODEL = ModelUsed(engine="", setting="", file="", size_bytes=0, sha256="")


def _models(session: Session) -> dict[str, ModelUsed]:
    """Return by engine which model it had."""
    told = [event for event in session.events if isinstance(event, ModelsEvent)]
    # The last one of each engine: after a crash the service may have gone on with another model.
    return {model.engine: model for event in told for model in event.models}


def scored(folder: Path) -> dict[int, QualityRecord]:
    """Return what `stark-translate score` said of a session's captions. Raises SessionError."""
    path, parse = folder / SCORED, partial(parse_json, _QUALITY)
    return {each.id: each for each in read_session_lines(path, parse)} if path.exists() else {}


def _rejudged(record: UtteranceRecord, again: QualityRecord | None) -> UtteranceRecord:
    """Return a record with the judgement of `stark-translate score`, if there is one."""
    if again is None:
        return record
    return replace(record, flags=again.flags, quality=again.quality)


def _spoken(
    shown: Iterable[UtteranceRecord], decisions: Mapping[int, Reviewed]
) -> Iterable[tuple[str, str]]:
    for record in shown:
        decided = decisions.get(record.id)
        reviewed = decided is not None and decided.outcome in ("approved", "corrected")
        said = decided.source if decided and reviewed else record.text
        if said != record.raw_text:
            yield record.raw_text, said
