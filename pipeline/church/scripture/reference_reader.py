"""Reads the forms in which preachers say a Bible reference. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace

from pipeline.church.scripture.books import (
    NAMES,
    ORDINALS,
    PSALMS,
    BookName,
    Mention,
    Reference,
    chapters,
    misspelled,
    verses,
)
from pipeline.church.scripture.number_words import Number
from pipeline.church.scripture.reference_numbers import (
    DASH,
    LIGHT,
    TIME,
    Found,
    Place,
    TokenReader,
    combined,
    resolved,
)
from pipeline.church.scripture.tokens import Tokens
from pipeline.core.language_words import WORDS, ReferenceWords
from pipeline.text.words import word_set

REFERENCE_WORDS: Mapping[str, ReferenceWords] = {
    lang: words.references for lang, words in WORDS.items() if words.references
}
"""By language."""

_VERSE_GAP = re.compile(r"\s*:\s*|\.|\s+|\s*,\s*|[-‐‑]")
_SIGN = re.compile(r"\s*:\s*|\.")
_CLOCK = word_set("until till")  # "we are in John 3:16 until 8:30"
_THROUGH = word_set("through thru")  # counts nothing, unlike "Romans 9 to 11 people"
_BARE = word_set("i ii iii 1 2 3 one two uno dos un une deux")
_LISTED = re.compile(r"\s*[,;]\s*")
_SENTENCE_END = re.compile(r"[.!?…]")
_NEAR = 6
"""Words before a name that are searched for a cue that something is read."""
_FEW = 3
"""A range of chapters ("Genesis 1-3") adds at most so many; "John 3-16" is chapter and verse."""


class Reader(TokenReader):
    """Reads one text. Positions are token numbers; a method returns None without its form."""

    def __init__(self, tokens: Tokens, lang: str, *, strict: bool) -> None:
        super().__init__(tokens, lang, REFERENCE_WORDS[lang])
        self._strict = strict
        self._last_end = -1
        """The token after the last reference found."""

    def mentions(self) -> Iterator[Mention]:
        """Yield the references in the text, left to right."""
        at, found = 0, None
        while at < len(self._tokens):
            found = (found and self._also(found)) or self._mention(at)
            if found is None:
                at += 1
                continue
            start, end = self._tokens.spans[found.first][0], self._tokens.spans[found.end - 1][1]
            yield Mention(found.reference, start, end, found.book_first)
            at = self._last_end = found.end

    def books(self) -> Iterator[tuple[BookName, int, int]]:
        """Yield book names, with or without numbers: name, first token, token after it."""
        at = 0
        while at < len(self._tokens):
            book = self._book(at)
            if book:
                yield book[0], at, book[1]
            at = book[1] if book else at + 1

    def _book_first(self, at: int) -> Found | None:
        """Read "Romans eight twenty-eight", "John chapter three, verse sixteen"."""
        book = self._book(at)
        place = self._place(book[0], book[1]) if book else None
        if book is None or place is None:
            return None
        reference = Reference(book[0].number, place.chapter, place.verse)
        later = self._with_until(reference, place.end)
        if later and not place.verse:
            is_explicit = place.is_explicit or self._is_several(place.end)
            place = replace(place, end=later[1], is_explicit=is_explicit)
        if not self._counts(book[0], at, place):
            return None
        reference, end = later or self._with_last(reference, place.end)
        # Print has "Psalm 23", but "Psalms 23 and 24".
        is_list = self._word(end) == self._words.both and self._number(end + 1) is not None
        return Found(reference, at, end, book_first=not (is_list and self._is_plural_name(at)))

    def _mention(self, at: int) -> Found | None:
        # The longest form first: "verse 3 of chapter 2 of John" contains the two others.
        return self._verse_first(at) or self._chapter_first(at) or self._book_first(at)

    def _also(self, before: Found) -> Found | None:
        """Read the 24 of "Psalms 23 and 24" and the 8:1-4 of "Romans 7:15-25 and 8:1-4"."""
        at, reference = before.end, before.reference
        gap, is_joined = self._tokens.gap(at - 1), self._word(at) == self._words.both
        if not (self._is_light(at - 1) if is_joined else _LISTED.fullmatch(gap)):
            return None
        place = self._place_in(reference.book, at + is_joined)
        if place is None or place.chapter <= (reference.until or (reference.chapter,))[0]:
            return None
        also = Reference(reference.book, place.chapter, place.verse)
        also, end = self._with_until(also, place.end) or self._with_last(also, place.end)
        if reference.verse:
            # "John 3:16 and 8:30" may be a time.
            is_sure = also.ending or place.verse < 10 or ";" in gap
            is_meant = place.verse and place.is_explicit and is_sure
        else:
            is_next = place.chapter == reference.chapter + 1 and self._is_over(end)
            is_meant = is_joined and not place.verse and (is_next or self._is_several(at))
        if not is_meant or self._is_count(end):
            return None
        return Found(also, at + is_joined, end, book_first=False)

    def _chapter_first(self, at: int) -> Found | None:  # noqa: PLR0911 - form by form
        """Read "the eighth chapter of Romans", "the 23rd psalm", "chapters 5 to 7 of John"."""
        words, until = self._words, 0
        if self._word(at) in words.chapter:
            # Spanish: "los capítulos del 5 al 7".
            number = self._number(self._past(at + 1, words.of))
            if number:
                until, end = self._last(number.value, number.end, is_plural=True)
        else:
            number = self._number(at)
            if number is None or not number.ordinal:
                return None
            end = number.end
            psalm = self._book(end) if self._is_light(end - 1) else None
            # Only for Psalms: other books need the word "chapter".
            if psalm and psalm[0].number == PSALMS:
                return self._with_verse(PSALMS, number.value, at, psalm[1])
            if self._word(end) not in words.chapter:
                return None
            end += 1
        if number is None:
            return None
        verse = None if until else self._verse(end)
        # "Chapter 3, verses 16 and 17 of John": the verses may come before the book.
        last, end = self._last(verse.value, verse.end) if verse else (0, end)
        book = self._book_of(end)
        if book is None:
            return None
        if until:
            reference = Reference(book[0].number, number.value, until=(until, 0))
            return self._valid(reference, at, book[1])
        if verse is None:
            return self._with_verse(book[0].number, number.value, at, book[1])
        return self._valid(Reference(book[0].number, number.value, verse.value, last), at, book[1])

    def _verse_first(self, at: int) -> Found | None:
        """Read "verse sixteen of John chapter three", "the third verse of chapter 13 of Romans"."""
        words = self._words
        found = self._verses(at)
        if found is None:
            return None
        verse, last, end = found
        # "Verse 16, chapter 3 of John": here a comma replaces "of".
        if self._word(end) not in words.of | words.chapter or not self._is_light(end - 1):
            return None
        whole = self._chapter_first(self._past(end, words.of | words.articles))
        whole = whole or self._chapter_of(end)
        # A chapter with its own verse is another reference: the first verse does not belong to it.
        if whole is None or whole.reference.verse or whole.reference.until:
            return None
        return self._valid(replace(whole.reference, verse=verse, last=last), at, whole.end)

    def _verses(self, at: int) -> tuple[int, int, int] | None:
        """Read "verses 4 to 8", "the third and fourth verses": first, last or 0, token after it."""
        words = self._words
        if self._word(at) in words.verse:
            number = self._with_zero(self._number(at + 1))
            if number is None:
                return None
            is_plural = self._is_plural(at)
            return number.value, *self._last(number.value, number.end, is_plural=is_plural)
        number = self._number(at)
        if number is None or not number.ordinal:
            return None
        last, end = self._last(number.value, number.end, is_plural=True)
        # "The second, third and fifth verses": a plural with one number lacks the numbers before.
        if self._word(end) not in words.verse or (self._is_plural(end) and not last):
            return None
        return number.value, last, end + 1

    def _chapter_of(self, at: int) -> Found | None:
        """Read "of John chapter three", "of Psalm 23", and "of Jude", which has one chapter."""
        book = self._book_of(at)
        if book is None:
            return None
        name, end = book
        place = self._place(name, end)
        if place:
            reference = Reference(name.number, place.chapter, place.verse)
            return Found(reference, at, place.end, book_first=False)
        if chapters(name.number) > 1:
            return None
        return Found(Reference(name.number, 1), at, end, book_first=False)

    def _with_verse(self, book: int, chapter: int, first: int, end: int) -> Found | None:
        """Return a chapter that was said first, with the verse that may follow."""
        verse = self._verse(end)
        if verse is None:
            return self._valid(Reference(book, chapter), first, end)
        found = self._valid(Reference(book, chapter, verse.value), first, verse.end)
        if found is None:
            return None
        reference, end = self._with_last(found.reference, found.end)
        return Found(reference, first, end, book_first=False)

    def _valid(self, reference: Reference, first: int, end: int) -> Found | None:
        count = verses(reference.book, reference.chapter)
        is_past = reference.until and reference.until[0] > chapters(reference.book)
        if not count or is_past or max(reference.verse, reference.last) > count:
            return None
        return Found(reference, first, end, book_first=False)

    def _book(self, at: int) -> tuple[BookName, int] | None:
        """Return the book whose name begins at a token, and the token after it."""
        ordinal, end = self._ordinal(at)
        # "First John" is tried before "John": the ordinal may also belong to the words before.
        for start, number in ((end, ordinal), (at, 0)) if ordinal else ((at, 0),):
            for name in NAMES[self._lang].get(self._word(start), ()):
                after = start + len(name.words)
                said = self._tokens.words[start:after]
                if name.ordinal == number and said == name.words and self._is_one(start, after):
                    return name, after
            if found := self._possessor(start, number) or self._misspelled(start, number):
                return found
        return None

    def _possessor(self, at: int, ordinal: int) -> tuple[BookName, int] | None:
        """Read "Mark's gospel", "Peter's second letter"."""
        word, is_possessive, _ = self._word(at).partition("'")
        if not is_possessive or not self._words.possessed:
            return None
        number = ORDINALS[self._lang].get(self._word(at + 1), 0)
        end = at + 2 + bool(number)
        if self._word(end - 1) not in self._words.possessed or not self._is_one(at, end):
            return None
        for name in NAMES[self._lang].get(word, ()):
            if name.ordinal == (ordinal or number) and len(name.words) == 1:
                return name, end
        return None

    def _misspelled(self, at: int, ordinal: int) -> tuple[BookName, int] | None:
        """Read "Phillipians": a capitalized word before a number, similar to one book's name."""
        # Only speech has misheard names. Translations are not strict: translators spell correctly.
        if not self._strict or at >= len(self._tokens) or not self._tokens.is_capital(at):
            return None
        if self._word(at + 1) not in self._words.chapter and self._number(at + 1) is None:
            return None
        name = misspelled(self._word(at), ordinal, self._lang)
        return (name, at + 1) if name else None

    def _ordinal(self, at: int) -> tuple[int, int]:
        """Return the number before "Corinthians" and the token where that name must begin."""
        word, end = self._word(at), at + 1
        # "1st" and "2nd" are two tokens without a gap.
        if word.isdecimal() and at < len(self._tokens) and self._tokens.gap(at) == "":
            word, end = word + self._word(at + 1), at + 2
        number = ORDINALS[self._lang].get(word, 0)
        # "First, Corinthians 13": the recognizer's comma, unless the name can have no number.
        is_parted = self._is_light(end - 1) and not any(
            name.ordinal == 0 for name in NAMES[self._lang].get(self._word(end), ())
        )
        if not number or not (self._is_spaced(end - 1) or is_parted):
            return 0, at
        # Only "the first letter to ..." has words in between; nobody says "1 the Corinthians".
        if len(word) > 3 or word not in _BARE:
            end = self._past(end, self._words.fillers)
        return number, end

    def _book_of(self, at: int) -> tuple[BookName, int] | None:
        """Return the book after "of", "of the book of"."""
        if self._word(at) not in self._words.of or not self._is_light(at - 1):
            return None
        book = self._book(self._past(at, self._words.of | self._words.articles))
        return book or self._book(self._past(at, self._words.fillers | self._words.cues))

    def _place(self, name: BookName, at: int) -> Place | None:
        """Return the chapter and verse that begin at a token, after a book's name."""
        word, words = self._word(at), self._words
        # "Romans. Chapter 8" and "1 Thess. 4:13": a full stop that does not end a sentence.
        may_stop = name.is_short or (word in words.chapter and not name.is_common)
        gap = self._tokens.gap(at - 1).lstrip("." if may_stop else "") if word else ""
        return self._place_in(name.number, at) if LIGHT.fullmatch(gap) else None

    def _place_in(self, book: int, at: int) -> Place | None:
        """Return the chapter and verse of a book that begin at a token."""
        word, words = self._word(at), self._words
        # "Jude verse 3": a book with one chapter is cited without the chapter.
        if word in words.verse and chapters(book) == 1:
            verse = self._number(at + 1)
            return self._checked(book, 1, verse.value, verse.end) if verse else None
        number = self._number(at + (word in words.articles))
        if number and number.ordinal:
            if self._word(number.end) not in words.chapter:
                return None
            run, is_explicit = [replace(number, end=number.end + 1)], True
        else:
            is_explicit = word in words.chapter
            # "Chapters 9 and 10" are no verse.
            may_be_ordinal = is_explicit and not self._is_several(at + 1)
            run = self._run(book, at + is_explicit, may_be_ordinal=may_be_ordinal)
        if not run:
            return None
        if verse := self._verse(run[-1].end):
            # All numbers before "verse" are the chapter: "one nineteen, verse one oh five".
            chapter = combined(run)
            if any(verses(book, c) >= verse.value for c in chapter):
                right = next(c for c in chapter if verses(book, c) >= verse.value)
                return self._checked(book, right, verse.value, verse.end)
        place = resolved(book, run)
        if place is None:
            return None
        # A colon is as explicit as the words "chapter" and "verse".
        first = self._tokens.gap(run[0].end - 1) if place.end != run[0].end else ""
        return replace(place, is_explicit=is_explicit or bool(_SIGN.fullmatch(first)))

    def _checked(self, book: int, chapter: int, verse: int, end: int) -> Place | None:
        if not 1 <= verse <= verses(book, chapter):
            return None
        return Place(chapter, verse, end, is_explicit=True)

    def _run(self, book: int, at: int, *, may_be_ordinal: bool) -> list[Number]:
        """Return at most four numbers in a row: "one nineteen one oh five" are four."""
        run: list[Number] = []
        words = self._words
        while len(run) < 4 and at < len(self._tokens):
            skip = 1 if run and may_be_ordinal and self._word(at) == words.both else 0
            is_zero = bool(run) and self._word(at) in words.zero
            number = self._number(at + skip + is_zero)
            if number is None or (number.ordinal and not may_be_ordinal):
                break
            if run and self._word(at).isdecimal() != self._word(at - 1).isdecimal() and not skip:
                break  # "Daniel 5 una mano", "John three 5 of us"
            # "oh five" is a five after a hundred: `combined` makes 105 of it.
            value = -number.value if is_zero else number.value
            run.append(Number(value, number.end))
            at = number.end
            gap = self._tokens.gap(at - 1)
            # "eight-twenty-eight" is one reference, 8-12 may be several chapters or verses.
            if not _VERSE_GAP.fullmatch(gap) or (
                gap == "-" and self._word(at).isdecimal() and not self._is_verse(book, run, at)
            ):
                break
        return run

    def _is_verse(self, book: int, run: list[Number], at: int) -> bool:
        """Whether digits after a hyphen are a verse: "John 3-16", not "Genesis 1-3"."""
        chapter, number = run[0].value, self._number(at)
        if len(run) > 1 or number is None or chapters(book) == 1:
            return False
        if not 1 <= number.value <= verses(book, chapter):
            return False
        # A number that is not one of the next chapters can only be the verse.
        most = chapters(book) if self._is_several(at) else min(chapters(book), chapter + _FEW)
        if not chapter < number.value <= most:
            return True
        before = {self._word(near) for near in range(max(0, at - _NEAR), at)}
        return self._word(number.end) in self._words.tells or not before.isdisjoint(
            self._words.verse
        )

    def _with_last(self, reference: Reference, end: int) -> tuple[Reference, int]:
        """Return the reference with the last of several verses, and where it ends."""
        if not reference.verse:
            return reference, end
        # A last verse that the chapter lacks is not part of the reference; the first verse is.
        most = verses(reference.book, reference.chapter)
        last, after = self._last(reference.verse, end)
        number = None if last or not self._is_spaced(end - 1) else self._number(end)
        # "Ephesians 2 8 9" are two verses; "Genesis 1 2 3" are chapters, and 10:30 is a time.
        if number and number.value == reference.verse + 1 != reference.chapter + 2:
            is_meant = self._is_over(number.end) and self._tokens.gap(number.end - 1) != ":"
            last, after = (number.value, number.end) if is_meant else (last, after)
        if not reference.verse < last <= most:
            return reference, end
        return replace(reference, last=last), after

    def _with_until(self, reference: Reference, end: int) -> tuple[Reference, int] | None:
        """Return a reference that ends in a later chapter: "Isaiah 52:13 through 53:12"."""
        is_dash = DASH.fullmatch(self._tokens.gap(end - 1)) is not None
        if not is_dash and not (self._is_light(end - 1) and self._word(end) in self._words.until):
            return None
        at = end if is_dash else self._past(end + 1, self._words.articles)
        if not reference.verse:
            return self._with_chapters(reference, end, at, is_sure=is_dash)
        place = self._place_in(reference.book, at)
        if place is None or not place.verse or place.chapter <= reference.chapter:
            return None
        ends = self._tokens.spans[place.end - 1][1]
        if self._word(end) in _CLOCK or TIME.match(self._tokens.text, ends):
            return None
        if not place.is_explicit:
            # "Romans 8:1 to 11, 14": verses; "John 3:16 to 17 20 people": a number of something.
            number = self._number(at)
            is_list = number is not None and not self._is_spaced(number.end - 1)
            is_verse = place.chapter <= verses(reference.book, reference.chapter)
            if not self._is_over(place.end) or (is_list and is_verse):
                return None
        return replace(reference, until=(place.chapter, place.verse)), place.end

    def _with_chapters(
        self, reference: Reference, end: int, at: int, *, is_sure: bool
    ) -> tuple[Reference, int] | None:
        """Return a range of chapters, "Psalms 120 through 134"; its last number is at a token."""
        number = self._number(self._past(at, self._words.chapter))
        if number is None or not reference.chapter < number.value <= chapters(reference.book):
            return None
        is_sure = is_sure or self._word(end) in _THROUGH or not self._strict
        is_meant = is_sure or self._is_several(end) or self._is_over(number.end)
        if not is_meant or self._is_count(number.end) or self._word(end) in _CLOCK:
            return None
        return replace(reference, until=(number.value, 0)), number.end

    def _counts(  # noqa: PLR0911 - rule by rule
        self, name: BookName, at: int, place: Place
    ) -> bool:
        """Whether a name with numbers is meant as a reference."""
        if place.is_explicit or not self._strict:
            return True
        tokens, words = self._tokens, self._words
        behind = self._word(place.end) if self._is_spaced(place.end - 1) else ""
        rest = tokens.gap(place.end - 1)
        # "Mark three times", "Acts 5 pm", "Numbers 3 %".
        if self._is_count(place.end):
            return False
        before = self._word(at - 1) if at and self._is_light(at - 1) else ""
        # Mark, Job, Ruth are also names of people or ordinary words.
        if name.is_common and (not name.ordinal or name.is_short):
            is_apart = not (self._is_spaced(at + len(name.words) - 1) or name.is_short)
            if is_apart or not tokens.is_capital(at):
                return False
            is_cued = self._is_cued(name, at, behind)
            if place.verse:
                # "James 24" has an age rather than 2:4.
                digits = self._word(place.end - 1)
                is_age = len(digits) == 2 and digits == f"{place.chapter}{place.verse}"
                is_free = not (before in words.people or is_age) or is_cued
                # A third number or a word for a time means no verse: "Mark 10 30 tomorrow".
                return is_free and not (behind.isdecimal() or behind in words.when)
            return is_cued and not name.is_short
        if place.verse:
            return True
        if rest.startswith("-"):
            return False  # several chapters
        # "The Romans 12 at a time", "my lamentations 3 pages long", "Hosea, 8, is here".
        is_plain = not name.ordinal and (before in words.articles or not tokens.is_capital(at))
        if rest.startswith(",") and not (name.ordinal or self._is_spaced(at + len(name.words) - 1)):
            return False
        return self._is_over(place.end) or not (is_plain or behind.isdecimal())

    def _is_cued(self, name: BookName, at: int, behind: str) -> bool:
        """Whether the words around a name and its chapter show that it is a book."""
        words, before = self._words, self._word(at - 1)
        if behind in words.tells:
            return True
        if not at or _SENTENCE_END.search(self._tokens.gap(at - 1)):
            return False
        if before in words.of and self._word(at - 2) in words.cues:
            before = self._word(at - 2)
        # "Genesis 1 and John 1": the reference before it is a cue too.
        if name.is_word or before in words.cues or 0 < self._last_end >= at - 1:
            return True
        near = range(max(0, at - _NEAR), at)
        return before in words.ways and any(self._word(place) in words.turns for place in near)
