"""Collect learning data from sessions into the data folder; this can be repeated at any time.

A session is read again only if its files have changed: it was reviewed, scored again, or something
was taken off the record. The data folder keeps nothing of a session while its files may still
contain words that were said off the record.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import zip_longest
from pathlib import Path

from pipeline.captions.redaction import MARK
from pipeline.core.errors import SessionError
from pipeline.core.formats import utc_now
from pipeline.dictionary.rules import Rule
from pipeline.evaluation.meaning import read as read_meanings
from pipeline.evaluation.sentences import read as read_gate
from pipeline.learning.data.acceptance import (
    Bar,
    find_bars,
    read_bars,
    shipped_bars,
    with_bar,
    without_contradictions,
)
from pipeline.learning.data.folder import (
    CALIBRATION,
    CONFUSIONS,
    FOCUS,
    LEDGER,
    MANIFEST,
    MODERATE,
    PAIRS,
    DataFolder,
    LedgerEntry,
    drop_sound,
    keep_sound,
    write_metadata,
)
from pipeline.learning.data.harvest import SCORED, Harvest, harvest
from pipeline.learning.data.pairs import SHARES, LearningPair, read_pairs, select
from pipeline.learning.data.terms import Confusion, confusions, new_terms, proposed_rules
from pipeline.learning.manifest import sha256, write_manifest
from pipeline.review.store import REVIEWED
from pipeline.session.reader import JOURNAL, RECORDS
from pipeline.session.resume import in_use
from pipeline.text.words import words

# The files that a session's pairs depend on: if they are unchanged, it is not read again.
_INPUTS = (JOURNAL, RECORDS, REVIEWED, SCORED)
_FORM = {"form": "4"}
"""Version of a harvest's format. A new version makes each session be read once more."""


@dataclass(frozen=True, slots=True)
class Skipped:
    """A session that was not read, and why."""

    session: str
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Collected:
    """The result of a collection."""

    new: tuple[str, ...]
    """Sessions that were read, or read again."""
    unchanged: int
    # With reasons: otherwise a skipped service would be noticed only months later.
    skipped: tuple[Skipped, ...]
    sessions: int
    """Sessions in the data folder, including those that are no longer on disk."""
    pairs: int
    """Pairs to learn from, all tiers."""
    by_tier: dict[str, int]
    by_source: dict[str, int]
    moderate: int
    waiting: int
    """Pairs that wait for a review."""
    pairs_per_hour: float | None
    """Accepted pairs per hour of speech; None without speech."""
    bars: dict[str, Bar]
    """By translator."""
    new_terms: tuple[tuple[str, int], ...]
    rules: tuple[Confusion, ...]
    """Rules proposed for the dictionary."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CollectSettings:
    """The settings of a collection."""

    rules: Sequence[Rule]
    """The dictionary's rules: they give the church's terms."""
    lang: str = "en"
    """The spoken language whose misheard words and names are looked for."""
    everyday: Collection[str] = ()
    """Everyday words: no proposed rule may match only these."""
    general: Sequence[LearningPair] = ()
    speaker: str = ""
    """Speaker of the sessions that are read now; "" keeps the ledger's speaker."""
    demos: bool = False
    """Whether recordings of the demo count as services."""


def collect(
    data: DataFolder,
    folders: Iterable[Path],
    settings: CollectSettings,
    *,
    dry_run: bool = False,
    on_session: Callable[[str], None] = lambda _: None,
) -> Collected:
    """Update the data folder from these sessions; return the result.

    With `dry_run` nothing is written. `on_session` gets the name of each session.
    A session that cannot be read is skipped, with the reason. Raises LearningError.
    """
    # A rule may need the article to be heard: the term is the same without it.
    terms = [rule.write.removeprefix("the ") for rule in settings.rules]
    ledger = data.ledger()
    # Pairs of sessions that are no longer on disk stay.
    stored = data.harvests()
    new: list[str] = []
    skipped: list[Skipped] = []
    unchanged = 0
    for folder in folders:
        name = folder.name
        on_session(name)
        before = ledger.get(name)
        # Before reading: a session that is being written is incomplete.
        if why := _hindrance(folder):
            skipped.append(Skipped(name, why))
            # Keep nothing of a session until its files are free of words said off the record.
            if name in stored and (folder / MARK).exists():
                del stored[name]
                if not dry_run:
                    remove(data, name)
            continue
        speaker = settings.speaker or (before.speaker if before else "")
        try:
            # Compare contents: a copy from a backup has new dates but the same words.
            inputs = {f: sha256(folder / f) for f in _INPUTS if (folder / f).exists()} | _FORM
            # A session with a new speaker is read again too.
            if before and name in stored and (before.inputs, before.speaker) == (inputs, speaker):
                unchanged += 1
                continue
            found = harvest(folder, terms, speaker)
        except (SessionError, OSError) as error:
            # Its earlier pairs stay. One damaged session must not stop the others.
            skipped.append(Skipped(name, str(error)))
            continue
        # After reading, since only the records show that a session is a demo.
        if found.is_demo and not settings.demos:
            skipped.append(Skipped(name, "a demo"))
            continue
        # Also with dry_run, so that the figures are those of a real run.
        stored[name] = found
        new.append(name)
        if not dry_run:
            counts = Counter[str](pair.status for pair in found.pairs)
            entry = LedgerEntry(
                session=name, utc=utc_now(), speaker=speaker, inputs=inputs, counts=counts
            )
            _store(data, folder, found, entry)
    return _sum_up(data, stored, (tuple(new), unchanged, tuple(skipped)), settings, dry_run)


def remove(data: DataFolder, session: str) -> bool:
    """Remove a session's pairs and sound from the data folder; return whether there were any.

    Derived files, such as a mix, are made again by their own step. Raises LearningError.
    """
    with data.writing():
        # Sound first: after a kill the session is still in the ledger and is removed next time.
        drop_sound(data.path, session)
        for name in (PAIRS, MODERATE):
            every = read_pairs(data.path / name)
            # Now, not at the next collection: a mix made in between must not contain them.
            kept = [pair for pair in every if pair.session_id != session]
            if len(kept) < len(every):
                data.write_pairs(name, kept)
        # Both have words of all sessions, and are made anew.
        for name in (FOCUS, CONFUSIONS):
            (data.path / name).unlink(missing_ok=True)
        there = data.session_file(session).exists()
        data.session_file(session).unlink(missing_ok=True)
    if there:
        data.enter(LedgerEntry(session=session, utc=utc_now(), removed=True))
    return there


def _hindrance(folder: Path) -> str:
    """Return why a session cannot be read now, "" if it can."""
    if (folder / MARK).exists():
        return "what was said off the record is still being removed"
    try:
        return "it is being written" if in_use(folder / JOURNAL) else ""
    except OSError as error:
        return error.strerror or str(error)


def _store(data: DataFolder, folder: Path, found: Harvest, entry: LedgerEntry) -> None:
    """Store a session's sound and pairs, and then the ledger's line."""
    with data.writing():
        # A session that is read again may have lost recordings since, and words of the focus.
        if data.session_file(folder.name).exists():
            (data.path / FOCUS).unlink(missing_ok=True)
        drop_sound(data.path, folder.name)
        keep_sound(data.path, folder, found.pairs)
    data.write_json(f"sessions/{folder.name}.json", found)
    # Last: after a kill before this line, the session is simply read again.
    data.enter(entry)


def _sum_up(
    data: DataFolder,
    stored: Mapping[str, Harvest],
    looked: tuple[tuple[str, ...], int, tuple[Skipped, ...]],
    settings: CollectSettings,
    dry_run: bool,
) -> Collected:
    """Compute the results of all sessions together and, unless `dry_run`, write them."""
    # By name, so that the files do not depend on the order of reading.
    ordered = [stored[name] for name in sorted(stored)]
    found = [pair for each in ordered for pair in each.pairs]
    judged = [verdict for each in ordered for verdict in each.judged]
    # From all sessions together, each time: one service is too little data for a bar.
    bars = find_bars(found, judged, read_bars(data.path / CALIBRATION), shipped_bars())
    # After the bars: only pairs that would be accepted can contradict each other.
    every = without_contradictions([with_bar(pair, bars) for pair in found])
    chosen = select(every, settings.general)
    moderate = [pair for pair in every if pair.status == "moderate"]
    # Without pairs that wait for a review: their text may be misheard.
    right = [pair for pair in every if pair.status != "review"]
    texts = [pair.text for pair in right]
    # What is misheard in one language is often right in another; a mix is of one language.
    heard_and_said = [
        pair
        for each in ordered
        for pair, lang in zip_longest(each.spoken, each.spoken_langs)
        if lang in (None, settings.lang)
    ]
    spoken = confusions(heard_and_said)
    # Words of correct texts and of the shipped everyday sentences count as not misheard.
    everyday = [each.source for each in read_gate()] + [each.said for each in read_meanings()]
    usual = Counter(word for text in [*texts, *everyday] for word in words(text))
    usual.update(settings.everyday)
    own = [pair.text for pair in right if pair.source_lang == settings.lang]
    known = [rule.write for rule in settings.rules]
    heard = [phrase for rule in settings.rules for phrase in rule.hear]
    hours = sum(each.audio_s for each in ordered) / 3600
    accepted = sum(pair.tier == "accepted" for pair in chosen)
    collected = Collected(
        new=looked[0],
        unchanged=looked[1],
        skipped=looked[2],
        sessions=len(stored),
        pairs=len(chosen),
        by_tier=dict(Counter(pair.tier for pair in chosen)),
        by_source=dict(Counter(pair.source for pair in chosen)),
        moderate=len(moderate),
        waiting=sum(pair.status == "review" for pair in every),
        pairs_per_hour=round(accepted / hours, 1) if hours else None,
        bars=bars,
        new_terms=tuple(new_terms(own, known, settings.lang)),
        rules=tuple(proposed_rules(heard_and_said, heard, usual, settings.lang)),
    )
    if not dry_run:
        data.write_pairs(PAIRS, chosen)
        data.write_pairs(MODERATE, moderate)
        data.write_json(CALIBRATION, {name: asdict(bar) for name, bar in bars.items()})
        data.write_json(CONFUSIONS, [asdict(each) for each in spoken])
        figures = {key: value for key, value in asdict(collected).items() if key != "bars"}
        with data.writing():
            # From all accepted pairs, not only the chosen: a sentence in two voices is two samples.
            write_metadata(data.path, every)
            write_manifest(
                data.path / MANIFEST,
                step="collect",
                inputs=[data.path / LEDGER] if (data.path / LEDGER).exists() else [],
                settings={"shares": SHARES, "bars": bars},
                figures=figures,
            )
    return collected
