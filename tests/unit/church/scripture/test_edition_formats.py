"""Bibles in the formats of publishers."""

from __future__ import annotations

import time
from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.church.scripture import edition_formats
from pipeline.church.scripture.edition_formats import osis_words, parse, tidy
from pipeline.core.errors import VersesError

WANTED = {(43, 3, 16): "For God so loved the world,", (46, 13, 13): "And now abideth faith"}

OSIS = """<?xml version="1.0"?><osis xmlns="http://www.bibletechnologies.net/2003/OSIS/namespace">
<osisText><header><title>X</title></header><div type="book" osisID="John"><chapter osisID="John.3">
<title>Nicodemus</title><verse osisID="John.3.16">For God so <hi>loved</hi><note>a note</note> the
world,</verse></chapter></div><div><chapter osisID="1Cor.13"><p>
<verse sID="1Cor.13.13" osisID="1Cor.13.13"/>And now <q>abideth</q> faith<verse eID="1Cor.13.13"/>
 A heading in between</p></chapter></div></osisText></osis>"""
ZEFANIA = """<XMLBIBLE><INFORMATION/><BIBLEBOOK bnumber="43" bname="John"><CHAPTER cnumber="3">
<VERS vnumber="16">For God so <STYLE>loved</STYLE> the world,<NOTE>no</NOTE></VERS></CHAPTER>
</BIBLEBOOK><BIBLEBOOK bnumber="46"><CHAPTER cnumber="13"><VERS vnumber="13">And now abideth faith
</VERS></CHAPTER></BIBLEBOOK></XMLBIBLE>"""
USFM = r"""\id JHN John
\h John
\c 3
\s Nicodemus
\p
\v 16 For God so \add loved\add* the\f + \ft a note\f* world,
\id 1CO
\c 13
\p
\v 13 And now \w abideth|strong="G3306"\w* faith
"""
TABS = (
    "Book\tChapter\tVerse\tText\nJohn\t3\t16\tFor God so loved the world,\n"
    "1 Corinthians\t13\t13\tAnd now abideth faith\n"
)


@pytest.mark.parametrize("text", [OSIS, ZEFANIA, USFM, TABS, TABS.replace("John", "43")])
def test_every_format_gives_the_same_verses(text: str) -> None:
    assert parse(text, "file") == WANTED
    assert parse("\ufeff" + text.replace("\n", "\r\n"), "file") == WANTED


@pytest.mark.parametrize(
    "markup",
    [
        '<w lemma="G3779">For</w> <w>God</w> so <w>l</w>oved<lb/>the <w>world</w>,',
        "<title>Nicodemus</title>¶ For God<note>a <hi>note</hi></note> so loved the world,",
        "<lg><l>For God so</l><l>loved</l></lg> the world,",
    ],
)
def test_words_of_osis_are_neither_glued_nor_torn(markup: str) -> None:
    whole = f'<osis><verse osisID="John.3.16">{markup}</verse></osis>'
    wanted = "For God so loved the world,"
    assert parse(whole, "file") == {(43, 3, 16): wanted}
    assert tidy(osis_words(markup)) == wanted


def test_a_piece_of_osis_with_open_tags_is_read() -> None:
    markup = '<q who="Jesus">su alabanza</w><transChange type="added">será</transChange><w>siempre'
    assert tidy(osis_words(markup)) == "su alabanza será siempre"
    assert osis_words("For God<note>a note so loved the world") == ""
    assert tidy(osis_words("his<transChange>own</transChange>, &amp; a < b")) == "his own, & a < b"


@pytest.mark.parametrize("name", ["I Corinthians", "1Cor", "1CO", "1 Corintios", "46"])
def test_books_go_by_name_code_or_number(name: str) -> None:
    assert parse(f"{name}\t13\t13\tAnd now abideth faith", "file") == {
        (46, 13, 13): "And now abideth faith"
    }


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("", "verses-empty"),
        ("<osis><verse", "verses-broken-file"),
        ("<osis></osis>", "verses-empty"),
        ("John\t3\t16\tFor God\nsome text", "verses-bad-line"),
        (r"\id JHN", "verses-empty"),
        ("Tobit\t1\t1\tA book that is not here", "verses-empty"),
    ],
)
def test_what_cannot_be_read_is_told(text: str, code: str) -> None:
    with pytest.raises(VersesError) as error:
        parse(text, "my.xml")
    assert error.value.code == code
    assert "my.xml" in error.value.message


@settings(deadline=None)
@given(
    st.text(alphabet=st.sampled_from('<>/verse osID="John.3.16"\\v idc JHN 1\t\n'), max_size=200)
)
def test_any_text_is_read_or_refused(text: str) -> None:
    with suppress(VersesError):
        assert all(1 <= book <= 66 for book, _, _ in parse(text, "file"))


OPEN_NOTE = r"\id JHN" + "\n" + r"\c 3" + "\n" + r"\v 16 For God"


@pytest.mark.parametrize("tag", ["div", "hi", "note"])
def test_a_bible_of_nested_elements_is_read_however_deep_they_are(tag: str) -> None:
    deep = f"<{tag}>" * 20_000 + "x" + f"</{tag}>" * 20_000
    verse = f'<verse osisID="John.3.16">For God{deep}</verse>'
    words = "For God" if tag == "note" else "For God x" if tag == "div" else "For Godx"
    assert parse(f"<osis>{verse}</osis>", "a.xml") == {(43, 3, 16): words}
    vers = f'<VERS vnumber="16">For God{deep}</VERS>'
    book = f'<BIBLEBOOK bnumber="43"><CHAPTER cnumber="3">{vers}</CHAPTER></BIBLEBOOK>'
    assert parse(f"<XMLBIBLE>{book}</XMLBIBLE>", "a.xml") == {(43, 3, 16): words}


@pytest.mark.parametrize(
    "more",
    [r" \f + \ft open" * 20_000, "|" * 50_000, "1" * 50_000, r"\v " + "1" * 50_000, " " * 50_000],
    ids=["notes", "attributes", "digits", "verse", "spaces"],
)
def test_usfm_whose_marks_do_not_end_is_read_in_no_time(more: str) -> None:
    began_s = time.thread_time()
    assert parse(OPEN_NOTE + more, "a.usfm")[43, 3, 16].startswith("For God")
    assert time.thread_time() - began_s < 1, "it took a minute in the square of the length"


def test_a_note_that_does_not_end_hides_none_that_does() -> None:
    text = OPEN_NOTE + r" so \f + \ft open, loved\x - \xt Rom 5\x* the\fe + a\fe* world"
    assert parse(text, "a.usfm") == {(43, 3, 16): "For God so + open, loved the world"}
    marks = r" so \w loved|strong='G25'\w* a|b"
    assert parse(OPEN_NOTE + marks, "a.usfm") == {(43, 3, 16): "For God so loved a|b"}


def test_more_than_a_bible_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = "".join(f"1\t{n // 1000}\t{n % 1000}\tx\n" for n in range(100_001))
    with pytest.raises(VersesError, match="100001 verses"):
        parse(lines, "a.tsv")
    monkeypatch.setattr(edition_formats, "MOST_CHARACTERS", 1000)
    bomb = f'<!DOCTYPE a [<!ENTITY b "{"x" * 100}">]><osis>{"&b;" * 20}</osis>'
    with pytest.raises(VersesError, match=r"a\.xml is too large for a Bible"):
        parse(bomb, "a.xml")


def test_headings_and_captions_within_a_chapter_of_usfm_are_no_part_of_a_verse() -> None:
    text = """\\id PSA
\\c 119
\\q1 \\v 8 I will keep your statutes.
\\qa Beth
\\q1 \\v 9 How can a young man \\fig A young man|src="a.jpg"\\fig* keep his way?
\\sp The Beloved
\\mr (Psalms 1-41)
\\sr (Psalms 1-41)
\\q1 \\v 10 \\va 11\\va* \\vp 10b\\vp* With my whole heart.
"""
    assert parse(text, "a.usfm") == {
        (19, 119, 8): "I will keep your statutes.",
        (19, 119, 9): "How can a young man keep his way?",
        (19, 119, 10): "With my whole heart.",
    }


def test_the_name_of_the_work_before_a_verse_of_osis_is_passed_over() -> None:
    text = '<osis><verse osisID="Bible.KJV:Gen.1.1">In the beginning</verse></osis>'
    assert parse(text, "a.xml") == {(1, 1, 1): "In the beginning"}


def test_a_verse_of_usfm_in_two_parts_is_whole() -> None:
    text = "\\id GEN\n\\c 1\n\\v 3a And God said,\n\\v 3b Let there be light.\n"
    assert parse(text, "a.usfm") == {(1, 1, 3): "And God said, Let there be light."}
    text = "\\id PSA\n\\c 23\n\\q1\n\\v 1 耶和华是我的牧者，\n\\q2 我必不致缺乏。\n"
    assert parse(text, "a.usfm") == {(19, 23, 1): "耶和华是我的牧者，我必不致缺乏。"}
