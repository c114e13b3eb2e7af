"""Decide when a printed verse is shown: for a reference with its words, or a sure quotation. Pure.

After each final, the words of the last 30 seconds are compared with the Bible. A verse is shown
automatically in three cases: its reference and enough of its words were said; a quotation alone
passes the strict thresholds in two utterances; or the verse before it is on air and the reading
continues. Anything less is a suggestion, which the operator accepts or dismisses.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher

from pipeline.church.scripture import references
from pipeline.church.scripture.books import Reference, verses
from pipeline.church.scripture.verse_index import VerseIndex, words_of

WINDOW_S = 30.0
_REFERENCE_S = 90.0
"""How long after a reference its words may follow."""
_READING_S = 45.0
"""How long after a verse the reading may continue with the next one."""
_AGAIN_S = 180.0
"""How long a shown verse is not shown again."""
_REFUSED_S = 600.0
"""How long a dismissed suggestion does not come back."""
_MOST_WORDS = 40
"""Most words in the window before the new utterance; a match must include some of the new words."""


@dataclass(frozen=True, slots=True)
class Thresholds:
    """The minimum values of a quotation."""

    coverage: float
    run: int
    matched: int

    def let_pass(self, quotation: Quotation) -> bool:
        """Whether a quotation reaches every threshold."""
        return (
            quotation.coverage >= self.coverage
            and quotation.run >= self.run
            and quotation.matched >= self.matched
        )


STRICT = Thresholds(coverage=0.7, run=5, matched=8)
SUGGESTED = Thresholds(coverage=0.6, run=4, matched=8)
_WITH_REFERENCE = Thresholds(coverage=0.5, run=3, matched=4)
_SHARE = 0.4
"""The share of a verse that must be said if its reference was said, or if it is the next one."""


@dataclass(frozen=True, slots=True)
class Heard:
    """The verses found in a final."""

    on_air: Reference | None = None
    """A verse, or several in a row, to be shown with this final."""
    suggested: Reference | None = None


_Found = tuple[Reference | None, int]
"""Verses, and the position in the window after the last of them."""
_RIVAL = 0.8
"""Another verse with this share of the best one's weight makes it uncertain (parallel passages)."""


@dataclass(frozen=True, slots=True)
class _Said:
    words: tuple[str, ...]
    end_s: float


_Before = tuple[
    tuple[_Said, ...],
    tuple[tuple[Reference, float], ...],
    tuple[Reference, float] | None,
    dict[Reference, float],
]


class Passages:
    """Follows what is said, utterance by utterance. Times are seconds of the session's audio."""

    def __init__(self, index: VerseIndex, lang: str) -> None:
        self._index = index
        self._lang = lang
        self._said: deque[_Said] = deque()
        self._meant: list[tuple[Reference, float]] = []
        self._reading: tuple[Reference, float] | None = None
        self._passed: dict[Reference, float] = {}
        """Verses that passed the strict thresholds, and when."""
        self._quiet: dict[Reference, float] = {}
        """Verses that must not come up again, and until when."""
        self._expected: tuple[Reference, ...] = ()
        # One step is enough: only the last final can be taken back.
        self._before: _Before = ((), (), None, {})
        """The state before the last `push`."""
        self._aired: list[Reference] = []
        """The verses that the last `push` put on air."""

    def push(self, text: str, end_s: float, *, may_air: bool = True) -> Heard:
        """Process the words of a final; `end_s` is when its last word was spoken.

        Without `may_air`, a verse that would go on air is only suggested.
        """
        words = words_of(text)
        self._forget(end_s)
        # A final may be taken back when its speaker continues: then this `push` does not count.
        self._before = (tuple(self._said), tuple(self._meant), self._reading, dict(self._passed))
        self._aired = []
        # Before the return below: "John 3:16." may be a final of its own, without its words.
        self._meant += [(m.reference, end_s) for m in references.find(text, self._lang)]
        before = [word for said in self._said for word in said.words][-_MOST_WORDS:]
        self._said.append(_Said(tuple(words), end_s))
        # The index is searched by word pairs, and one word is no pair.
        if len(words) < 2:
            return Heard()
        window = [*before, *words]
        # The best-known case first: a continued reading needs the least evidence, a quotation most.
        aired, end = self._read_on(window, len(before), end_s)
        if aired is None:
            aired, end = self._with_reference(window, len(before), end_s)
        suggested = None
        if aired is None:
            aired, end, suggested = self._quoted(window, len(before), end_s)
            if aired is None and suggested is None:
                suggested, _ = self._meant_by(self._expected, window, len(before), end_s)
        if aired is None or not may_air:
            # Nothing is marked as shown: `show` is called when the operator takes a suggestion.
            return Heard(suggested=suggested or aired)
        self.show(aired, end_s)
        # Kept for `take_back`: only what this final has shown may be shown again at once.
        self._aired = _each(aired)
        # The words of a shown verse must not also match its parallel in another book.
        self._said.clear()
        self._said.append(_Said(tuple(window[end:]), end_s))
        return Heard(on_air=aired)

    def take_back(self) -> None:
        """Undo the last `push`: its speaker continued, and the complete utterance comes again."""
        # `_quiet` is not restored: the operator may have dismissed a verse since then.
        said, meant, self._reading, self._passed = self._before
        self._said, self._meant = deque(said), list(meant)
        for verse in self._aired:
            self._quiet.pop(verse, None)
        self._aired = []

    def expect(self, references: Sequence[Reference]) -> None:
        """Set the verses that are likely: enough of their words make a suggestion."""
        self._expected = tuple(references)

    def show(self, reference: Reference, at_s: float) -> None:
        """Note that a verse is on air; the reading may continue from there."""
        last = Reference(reference.book, reference.chapter, reference.last or reference.verse)
        self._reading = (last, at_s)
        self._quiet |= dict.fromkeys(_each(reference), at_s + _AGAIN_S)

    def dismiss(self, reference: Reference, at_s: float) -> None:
        """Leave a verse alone for a while: the operator does not want it."""
        self._quiet |= dict.fromkeys(_each(reference), at_s + _REFUSED_S)
        # Otherwise the next verse would continue a reading that does not happen.
        self._reading = None

    def forget(self) -> None:
        """Forget everything that was said: it is off the record."""
        self._said.clear()
        self._meant.clear()
        self._passed.clear()
        self._reading = None
        # Otherwise taking back the last final would restore the words.
        self._before = ((), (), None, {})

    def _forget(self, now_s: float) -> None:
        while self._said and now_s - self._said[0].end_s > WINDOW_S:
            self._said.popleft()
        self._meant = [(r, at_s) for r, at_s in self._meant if now_s - at_s <= _REFERENCE_S]
        self._passed = {r: at_s for r, at_s in self._passed.items() if now_s - at_s <= WINDOW_S}
        self._quiet = {r: until_s for r, until_s in self._quiet.items() if until_s > now_s}
        if self._reading and now_s - self._reading[1] > _READING_S:
            self._reading = None

    def _is_open(self, reference: Reference, now_s: float) -> bool:
        return self._quiet.get(reference, now_s) <= now_s

    def _read_on(self, window: Sequence[str], new: int, now_s: float) -> _Found:
        """Return the verses after the one on air, as far as they were said.

        The words from `new` on are those of the last utterance, also in the methods below.
        """
        said: list[Quotation] = []
        verse = _next(self._reading[0]) if self._reading else None
        while verse and verse.verse and (found := self._said_of(verse, window, new, now_s)):
            said.append(found)
            verse = _next(verse)
        return _in_row(said)

    def _with_reference(self, window: Sequence[str], new: int, now_s: float) -> _Found:
        """Return the verses of a spoken reference whose words were said too."""
        # The newest reference first: a preacher who corrects himself means the second.
        return self._meant_by([meant for meant, _ in reversed(self._meant)], window, new, now_s)

    def _meant_by(
        self, references: Sequence[Reference], window: Sequence[str], new: int, now_s: float
    ) -> _Found:
        for meant in references:
            found = (
                self._said_of(verse, window, new, now_s) for verse in self._verses(meant, window)
            )
            if said := list(filter(None, found)):
                return _in_row(said)
        return None, 0

    def _verses(self, meant: Reference, window: Sequence[str]) -> list[Reference]:
        """Return the verses that a reference may mean; for a chapter, those that may be quoted."""
        if meant.verse:
            return _each(meant)
        found = search(self._index, window)
        place = (meant.book, meant.chapter)
        return sorted(
            # In the order of the chapter, as `_in_row` joins only verses that follow each other.
            q.reference
            for q in found
            if (q.reference.book, q.reference.chapter) == place
        )

    def _said_of(
        self, verse: Reference, window: Sequence[str], new: int, now_s: float
    ) -> Quotation | None:
        """Return a verse if enough of it is in the window, and some of it in the new words."""
        found = compare(self._index, window, verse) if self._is_open(verse, now_s) else None
        # A match that ends before the new words was judged when they were new.
        if found is None or found.end <= new or found.share < _SHARE:
            return None
        return found if _WITH_REFERENCE.let_pass(found) else None

    def _quoted(
        self, window: Sequence[str], new: int, now_s: float
    ) -> tuple[Reference | None, int, Reference | None]:
        """Return the verse that is surely quoted, where it ends, and a verse that may be quoted."""
        found = search(self._index, window)
        if not found or found[0].end <= new:
            return None, 0, None
        best = found[0]
        is_alone = all(_weight(other) < _RIVAL * _weight(best) for other in found[1:])
        # The second best is not used instead: the words belong to the best.
        if not self._is_open(best.reference, now_s):
            return None, 0, None
        if is_alone and self._passes_again(best, now_s):
            return best.reference, best.end, None
        return None, 0, best.reference if SUGGESTED.let_pass(best) else None

    def _passes_again(self, quotation: Quotation, now_s: float) -> bool:
        """Whether a quotation passes STRICT, and it or the verse before has passed earlier."""
        if not STRICT.let_pass(quotation):
            return False
        verse = quotation.reference
        # A reader continues: the verse before it, which passed an utterance ago, is the first time.
        known = [verse, replace(verse, verse=verse.verse - 1)]
        # Strictly before now: a final does not confirm itself.
        is_second = any(self._passed.get(each, now_s) < now_s for each in known)
        self._passed[verse] = now_s
        return is_second


def _weight(quotation: Quotation) -> float:
    return quotation.matched * quotation.coverage


def _each(reference: Reference) -> list[Reference]:
    last = reference.last or reference.verse
    # Of a range over chapters the first verse only: the reading goes on from it.
    one = replace(reference, last=0, until=None)
    return [replace(one, verse=v) for v in range(reference.verse, last + 1)]


def _next(verse: Reference) -> Reference:
    """Return the next verse; verse 0 at the end of the book."""
    if verse.verse < verses(verse.book, verse.chapter):
        return replace(verse, verse=verse.verse + 1, last=0)
    more = verses(verse.book, verse.chapter + 1)
    return Reference(verse.book, verse.chapter + 1, 1 if more else 0)


def _in_row(said: Sequence[Quotation]) -> _Found:
    """Return verses that follow each other in one chapter as one reference, and where they end."""
    if not said:
        return None, 0
    first = last = said[0].reference
    end = said[0].end
    for quotation in said[1:]:
        if quotation.reference != _next(last) or quotation.reference.chapter != last.chapter:
            break
        last, end = quotation.reference, max(end, quotation.end)
    return (first if first == last else replace(first, last=last.verse)), end


_CANDIDATES = 6
_GAP = 0.5
"""Cost of a word between two matching blocks; a matching word scores 1."""


@dataclass(frozen=True, slots=True)
class Quotation:
    """How much of a verse was said."""

    reference: Reference
    matched: int
    """Words of the verse that were said."""
    coverage: float
    """The share of matched words in all words said from the first to the last of them."""
    share: float
    """The share of the verse's words that was said."""
    run: int
    """The most words of the verse said in a row."""
    end: int
    """The position after the last matched word, in the words that were said."""


def search(index: VerseIndex, words: Sequence[str]) -> list[Quotation]:
    """Return the verses that the words may quote, best first, each once."""
    said = index.ids(words)
    return _best(_align(index, said, number) for number in index.candidates(said, _CANDIDATES))


def compare(index: VerseIndex, words: Sequence[str], reference: Reference) -> Quotation | None:
    """Return how much of one verse the words contain, None if nothing."""
    said = index.ids(words)
    found = _best(_align(index, said, number) for number in index.texts_of(reference))
    return found[0] if found else None


def _best(quotations: Iterable[Quotation | None]) -> list[Quotation]:
    best: dict[Reference, Quotation] = {}
    for quotation in quotations:
        if quotation is None:
            continue
        # Several editions have the verse, and the speaker reads from one of them.
        known = best.get(quotation.reference)
        if known is None or _rank(quotation) > _rank(known):
            best[quotation.reference] = quotation
    return sorted(best.values(), key=_rank, reverse=True)


def _rank(quotation: Quotation) -> tuple[float, float]:
    return _weight(quotation), quotation.share


def _align(index: VerseIndex, said: Sequence[int], number: int) -> Quotation | None:
    verse = index.text(number)
    # autojunk would ignore frequent words, and verses consist of them. The last block is a dummy of
    # length 0.
    blocks = SequenceMatcher(None, said, verse, autojunk=False).get_matching_blocks()[:-1]
    if not blocks or not verse:
        return None
    best, best_score = (0, 0), 0.0
    first, score = 0, 0.0
    for at, block in enumerate(blocks):
        gap = 0
        if at:
            before = blocks[at - 1]
            # A misheard word is skipped in the speech and in the verse, and costs once.
            gap = max(block.a - before.a - before.size, block.b - before.b - before.size)
        # As in Kadane's algorithm: if a stretch scores less than the gap costs, a new one begins.
        if score - _GAP * gap <= 0:
            first, score = at, 0.0
        else:
            score -= _GAP * gap
        score += block.size
        if score > best_score:
            best, best_score = (first, at + 1), score
    used = blocks[best[0] : best[1]]
    matched = sum(block.size for block in used)
    end = used[-1].a + used[-1].size
    return Quotation(
        reference=index.reference(number),
        matched=matched,
        # Counted from the first matching word: words before the quotation do not count.
        coverage=matched / (end - used[0].a),
        share=matched / len(verse),
        run=max(block.size for block in used),
        end=end,
    )
