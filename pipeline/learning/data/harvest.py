"""Read a session for learning: its pairs after edits and review, and its scores.

The sources are the session's records, its journal and the decisions of a review. Sessions of
earlier versions give less.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from pydantic import TypeAdapter

from pipeline.evaluation.rescore import QualityRecord
from pipeline.learning.data.acceptance import HALF, MISHEARD, is_spoken, obstacle
from pipeline.learning.data.pairs import LearningPair, Origin, Status
from pipeline.learning.data.terms import terms_in
from pipeline.protocol.caption import CaptionMessage
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
    """The learning data of a session."""

    pairs: tuple[LearningPair, ...]
    """All pairs except those that a person rejected or hid, and those without speech."""
    spoken: tuple[tuple[str, str], ...]
    """(heard, said) for each text that the dictionary, an operator or a reviewer has corrected."""
    audio_s: float
    """Speech, in seconds."""
    is_demo: bool
    judged: tuple[tuple[str, float, bool], ...] = ()
    """(translator, certainty, whether it was wrong) for each caption that a person has judged."""
    corrected: tuple[tuple[str, str], ...] = ()
    """(heard, said) for each caption that a reviewer has corrected."""
    reviewed_utc: str = ""
    """Time of the last review decision."""
    spoken_langs: tuple[str, ...] = ()
    """The language of each of `spoken`; none in a harvest of an earlier version."""


def harvest(folder: Path, terms: Sequence[str], speaker: str = "") -> Harvest:
    """Return a session's harvest. `terms` are the church's words. Raises SessionError."""
    session = Session(folder)
    edits = operator_edits(session.messages)
    hidden = {message.id for message in session.messages} - {m.id for m in session.captions}
    decisions = read_decisions(folder)
    models = _models(session)
    judged = scored(folder)
    pairs: list[LearningPair] = []
    verdicts: list[tuple[str, float, bool]] = []
    # Before the pairs are made: their score and flags come from the last scoring.
    records = [
        replace(record, flags=again.flags, quality=again.quality)
        if (again := judged.get(record.id))
        else record
        for record in session.shown
    ]
    for number, record in enumerate(records):
        pair = pair_of(record, session.name, session.langs["target"])
        decided = decisions.get(record.id)
        # A caption that an operator hid and no review has judged since was wrong in some way.
        is_judged = decided is not None and decided.outcome != "open"
        if pair is None or (record.id in hidden and not is_judged):
            continue
        if record.id in edits:
            # `follow_edit` returns None for a hidden caption: here a review has judged it since.
            pair = follow_edit(pair, edits[record.id]) or pair
        # A sentence that continues in the next caption is only half.
        following = records[number + 1] if number + 1 < len(records) else None
        hindered = obstacle(record, pair.source, following)
        origin, status, kept = _outcome(pair, decided, hindered)
        # The source text replaces a missing translation, and the reviewer has not added one.
        is_copy = origin == "review" and kept.engine == "source" and kept.target == pair.target
        # Equal languages mean an unknown one: the line in the file would have only one text.
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
            corrected=record.id in edits and edits[record.id].corrected,
            quality_score=kept.score,
            stt_confidence=kept.stt_confidence,
            translation_qe=kept.translation_qe,
            marian_agreement=kept.marian_agreement,
            flags=kept.flags,
            obstacle=hindered,
            engine=kept.engine,
            # The model of the engine that made the text: an operator has none.
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
            # A caption that was not approved unchanged counts as wrong.
            verdicts.append((made.translator, made.certainty, decided.outcome != "approved"))
        if status != "rejected" and (origin != "auto" or is_spoken(record)):
            pairs.append(made)
    shown = session.shown
    by_id = {record.id: record for record in shown}
    spoken = list(_spoken(shown, decisions, edits))
    return Harvest(
        pairs=tuple(pairs),
        judged=tuple(verdicts),
        corrected=tuple(
            (by_id[key].raw_text, decision.source)
            for key, decision in decisions.items()
            if decision.outcome == "corrected" and key in by_id
        ),
        reviewed_utc=max((decision.utc for decision in decisions.values()), default=""),
        spoken=tuple((heard, said) for heard, said, _ in spoken),
        spoken_langs=tuple(lang for *_, lang in spoken),
        audio_s=sum(record.end_s - record.start_s for record in shown),
        is_demo=session.is_demo,
    )


def _outcome(pair: Pair, decided: Reviewed | None, hindered: str) -> tuple[Origin, Status, Pair]:
    """Return a pair's origin, its status, and the pair after edits and review."""
    match decided.outcome if decided else "open":
        case "approved" | "corrected" if decided:
            reviewed = replace(
                pair, source=decided.source, target=decided.target, reviewer=decided.reviewer
            )
            return "review", "accepted", reviewed
        case "rejected":
            return "review", "rejected", pair
    # A review overrides an edit, which is made in a hurry during the service.
    if pair.engine == OPERATOR:
        # An operator has approved the translation, but the source text only if it was edited.
        misheard = hindered in (HALF, MISHEARD)
        return "operator", "review" if misheard else "accepted", pair
    return "auto", "review", pair  # until its translator's bar is known


_NO_MODEL = ModelUsed(engine="", setting="", file="", size_bytes=0, sha256="")


def _models(session: Session) -> dict[str, ModelUsed]:
    """Return the model of each engine."""
    loaded = [event for event in session.events if isinstance(event, ModelsEvent)]
    # The last model of each engine: after a crash the service may have continued with another.
    return {model.engine: model for event in loaded for model in event.models}


def scored(folder: Path) -> dict[int, QualityRecord]:
    """Return the results of `stark-translate score` for a session. Raises SessionError."""
    path, parse = folder / SCORED, partial(parse_json, _QUALITY)
    return {each.id: each for each in read_session_lines(path, parse)} if path.exists() else {}


def _spoken(
    shown: Iterable[UtteranceRecord],
    decisions: Mapping[int, Reviewed],
    edits: Mapping[int, CaptionMessage],
) -> Iterable[tuple[str, str, str]]:
    for record in shown:
        decided, edit = decisions.get(record.id), edits.get(record.id)
        reviewed = decided is not None and decided.outcome in ("approved", "corrected")
        said = edit.source.text if edit and edit.corrected and edit.target.text else record.text
        # A reviewer had time, and saw what the operator wrote.
        if decided and reviewed:
            said = decided.source
        if said != record.raw_text:
            yield record.raw_text, said, record.lang
