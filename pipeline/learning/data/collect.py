"""Collecting: from sessions to the data folder, as often as anybody likes.

A session is read again only if its files are others than the last time: reviewed, scored anew, or
with something taken off the record. Nothing of a session is kept while words that were said off
the record may still be in its files.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
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
from pipeline.learning.data.harvest import SCORED, Harvest, harvest, write_harvest
from pipeline.learning.data.pairs import LearningPair, TierShares, read_pairs, select
from pipeline.learning.data.terms import Confusion, confusions, new_terms, proposed_rules
from pipeline.learning.manifest import sha256, write_manifest
from pipeline.review.store import REVIEWED
from pipeline.session.reader import JOURNAL, RECORDS
from pipeline.session.resume import in_use
from pipeline.text.words import words

# What a session's pairs depend on: if these are the same it need not be read again.
_INPUTS = (JOURNAL, RECORDS, REVIEWED, SCORED)
_FORM = {"form": "2"}
"""Changes when a harvest knows more than before: then each session is read once more."""


@dataclass(frozen=True, slots=True)
class Skipped:
    """A session that was not read, and why."""

    session: str
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Collected:
    """What a collection came to."""

    new: tuple[str, ...]
    """Sessions that were read, or read again."""
    unchanged: int
    # With reasons: a service that silently gives nothing would be missed months later.
    skipped: tuple[Skipped, ...]
    sessions: int
    """In the data folder, those included that are no longer on disk."""
    pairs: int
    """Pairs to learn from, all tiers."""
    by_tier: dict[str, int]
    by_source: dict[str, int]
    moderate: int
    waiting: int
    """Pairs that wait for a review."""
    pairs_per_hour: float | None
    """Accepted pairs for an hour of speech; None without any."""
    bars: dict[str, Bar]
    """By translator."""
    new_terms: tuple[tuple[str, int], ...]
    rules: tuple[Confusion, ...]
    """Rules that the dictionary might get."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CollectSettings:
    """What a collection goes by."""

    rules: Sequence[Rule]
    """The dictionary's: they tell the church's terms."""
    everyday: Collection[str] = ()
    """Everyday words: no proposed rule may hear only these."""
    shares: TierShares = field(default_factory=TierShares)
    general: Sequence[LearningPair] = ()
    speaker: str = ""
    """Who spoke in the sessions that are read now; "" keeps what the ledger says."""
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
    """Bring the data folder up to date with these sessions; return what it came to.

    With `dry_run` nothing is written. `on_session` is told each session that has been looked at.
    A session that cannot be read is left out, with the reason. Raises LearningError.
    """
    terms = [rule.write for rule in settings.rules]
    ledger = data.ledger()
    # Also of sessions that are no longer on disk: their pairs stay.
    stored = {name: data.harvest(name) for name, entry in ledger.items() if not entry.removed}
    new: list[str] = []
    skipped: list[Skipped] = []
    unchanged = 0
    for folder in folders:
        name = folder.name
        on_session(name)
        before = ledger.get(name)
        # Before anything is read: a session that is being written is half.
        if why := _hindrance(folder):
            skipped.append(Skipped(name, why))
            # Until what was said off the record is out of its files, nothing of it stays here.
            if name in stored and (folder / MARK).exists():
                del stored[name]
                if not dry_run:
                    remove(data, name)
            continue
        speaker = settings.speaker or (before.speaker if before else "")
        try:
            # By content: a copy from a backup has new dates and the same words.
            inputs = {f: sha256(folder / f) for f in _INPUTS if (folder / f).exists()} | _FORM
            # The speaker as well: a session that is told who spoke is read again.
            if before and name in stored and (before.inputs, before.speaker) == (inputs, speaker):
                unchanged += 1
                continue
            found = harvest(folder, terms, speaker)
        except (SessionError, OSError) as error:
            # What was collected of it before stays. One damaged session must not end the others.
            skipped.append(Skipped(name, str(error)))
            continue
        # Only after reading: the records alone tell a demo.
        if found.is_demo and not settings.demos:
            skipped.append(Skipped(name, "a demo"))
            continue
        # Also with dry_run: the figures are those that the real run would have.
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
    """Take a session's pairs and sound out of the data folder; return whether there were any.

    What was made of them, such as a mix, is made again by its own step. Raises LearningError.
    """
    with data.writing():
        # Sound first: after a kill the session is still in the ledger, and is removed next time.
        drop_sound(data.path, session)
        for name in (PAIRS, MODERATE):
            every = read_pairs(data.path / name)
            # At once, not with the next sum: a mix that is made in between must not have them.
            kept = [pair for pair in every if pair.session_id != session]
            if len(kept) < len(every):
                data.write_pairs(name, kept)
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
    """Keep what a session gave: its sound, its pairs, and then the ledger's line."""
    with data.writing():
        # It may be read again, and have lost recordings since.
        drop_sound(data.path, folder.name)
        keep_sound(data.path, folder, found.pairs)
        write_harvest(data.session_file(folder.name), found)
    # Last: after a kill before this line the session is only read again.
    data.enter(entry)


def _sum_up(
    data: DataFolder,
    stored: Mapping[str, Harvest],
    looked: tuple[tuple[str, ...], int, tuple[Skipped, ...]],
    settings: CollectSettings,
    dry_run: bool,
) -> Collected:
    """Make what all sessions together give."""
    # By name: the files are the same whichever session was read first.
    ordered = [stored[name] for name in sorted(stored)]
    found = [pair for each in ordered for pair in each.pairs]
    judged = [told for each in ordered for told in each.judged]
    # Of all sessions together, each time: one service is too few for a bar.
    bars = find_bars(found, judged, read_bars(data.path / CALIBRATION), shipped_bars())
    # After the bars: only what would be accepted can contradict.
    every = without_contradictions([with_bar(pair, bars) for pair in found])
    chosen = select(every, settings.general, settings.shares)
    moderate = [pair for pair in every if pair.status == "moderate"]
    # As people have left it: what waits for a review may be misheard itself.
    texts = [pair.text for pair in every if pair.status != "review"]
    heard_and_said = [pair for each in ordered for pair in each.spoken]
    spoken = confusions(heard_and_said)
    # What was said rightly somewhere, and the shipped everyday sentences, is no misheard word.
    usual = Counter(word for text in [*texts, *_everyday()] for word in words(text))
    usual.update(settings.everyday)
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
        new_terms=tuple(new_terms(texts, known)),
        rules=tuple(proposed_rules(heard_and_said, heard, usual)),
    )
    if not dry_run:
        data.write_pairs(PAIRS, chosen)
        data.write_pairs(MODERATE, moderate)
        data.write_json(CALIBRATION, {name: asdict(bar) for name, bar in bars.items()})
        data.write_json(CONFUSIONS, [asdict(each) for each in spoken])
        _finish(data, every, collected, settings)
    return collected


def _everyday() -> list[str]:
    """Return everyday English that ships: its words need no rule."""
    return [each.source for each in read_gate()] + [each.said for each in read_meanings()]


def _finish(
    data: DataFolder, every: Sequence[LearningPair], made: Collected, settings: CollectSettings
) -> None:
    """Write the sound's metadata and the manifest. Raises LearningError."""
    figures = {key: value for key, value in asdict(made).items() if key != "bars"}
    with data.writing():
        # Of all accepted, not the chosen ones: the same sentence in two voices is two lessons.
        write_metadata(data.path, every)
        write_manifest(
            data.path / MANIFEST,
            step="collect",
            inputs=[data.path / LEDGER] if (data.path / LEDGER).exists() else [],
            settings={"shares": asdict(settings.shares), "bars": made.bars},
            figures=figures,
        )
