"""The pages' modules that need no page, run unchanged in the browser."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
from playwright.sync_api import Page

from tests.browser.conftest import run

pytestmark = pytest.mark.browser


def message(caption_id: int, seq: int, text: str, final: str = "true") -> str:
    return (
        f"{{id: {caption_id}, seq: {seq}, final: {final}, stable: 0,"
        f" source: {{lang: 'en', text: 'x'}}, target: {{lang: 'es', text: '{text}'}}}}"
    )


def test_retries_double_up_to_fifteen_seconds_with_jitter(page: Page) -> None:
    waits = run(
        page,
        "shared/connection",
        """return [0, 1, 2, 5, 50].map((attempt) =>
             [m.retryDelayMs(attempt, () => 0), m.retryDelayMs(attempt, () => 1)]);""",
    )
    assert waits == [[250, 500], [500, 1000], [1000, 2000], [7500, 15000], [7500, 15000]]


def test_the_newest_revision_wins_in_any_order(page: Page) -> None:
    shown = run(
        page,
        "shared/captions",
        f"""const c = new m.Captions(3);
        const changed = [{message(2, 5, "b2")}, {message(2, 4, "b1")}, {message(1, 3, "a")},
          {message(3, 6, "c")}, {message(3, 7, "")}, {message(3, 6, "c")}].map((x) => c.put(x));
        const first = c.visible("es").map((x) => x.target.text);
        c.put({message(4, 8, "d")});
        const old = c.put({message(1, 3, "a")});
        return [changed, first, c.visible("es").map((x) => x.target.text), old];""",
    )
    assert shown == [[True, False, True, True, True, False], ["a", "b2"], ["b2", "d"], False]


def test_text_is_split_by_code_points(page: Page) -> None:
    split = run(
        page,
        "render/caption_text",
        """return [m.splitAt("año", 2), m.splitAt("😀b", 1), m.splitAt("ab", 0),
                   m.splitAt("ab", 9)];""",
    )
    assert split == [["añ", "o"], ["😀", "b"], ["", "ab"], ["ab", ""]]


def test_what_is_solid_stays_so_until_its_word_changes(page: Page) -> None:
    """A streamed final starts with few stable characters, though most of the draft still holds."""
    kept = run(
        page,
        "render/caption_text",
        """return [["El Señor es", 8, "El Señor es mi"], ["El Señor es", 11, "El Sañor es"],
            ["El Señor es", 11, "El"], ["El 😀 sí", 5, "El 😁 sí"], ["", 0, "Paz"]]
            .map((given) => m.keptSolid(...given));""",
    )
    assert kept == [8, 3, 0, 3, 0]


def test_the_last_two_words_of_a_sentence_stay_together(page: Page) -> None:
    texts = ["Dio su vida por nosotros.", "Nada me faltará.", "Gracia y paz", "", "Sí\nvino a él."]
    split = run(page, "render/caption_text", f"return {texts!r}.map((t) => m.splitEnding(t, 'es'))")
    assert split[0] == ["Dio su vida ", "por nosotros."]
    assert split[1] == ["Nada me faltará.", ""]
    assert split[2:4] == [["Gracia y paz", ""], ["", ""]]
    assert split[4] == ["Sí\nvino ", "a él."]


@pytest.mark.parametrize(
    ("lang", "text"),
    [
        ("zh", "耶和华是我的牧者，我必不至缺乏。"),
        ("zh", "我们今天读 Romans 8。"),
        ("ja", "主は私の羊飼い。私は乏しいことがありません。"),
    ],
)
def test_sentences_without_spaces_end_with_two_words_too(page: Page, lang: str, text: str) -> None:
    """The browser's dictionary decides which two."""
    body = f"return m.splitEnding({text!r}, '{lang}')"
    head, tail = run(page, "render/caption_text", body)
    assert head + tail == text
    assert 3 <= len(tail) < 10
    assert run(page, "render/caption_text", "return m.splitEnding('阿们。', 'zh')") == [
        "阿们。",
        "",
    ]


def fold(page: Page, text: str, most: int, lang: str = "es") -> Any:
    """Fold with a font in which every character has width 1."""
    return run(
        page,
        "render/line_breaking",
        f"return m.breakLines({text!r}, '{lang}', {most}, (t) => t.length)",
    )


def test_lines_end_where_phrases_do(page: Page) -> None:
    assert fold(page, "El Señor es mi pastor; nada me faltará.", 24) == [
        "El Señor es mi pastor;",
        "nada me faltará.",
    ]
    assert fold(page, "Dio su vida en la cruz por nuestros pecados.", 36) == [
        "Dio su vida en la cruz",
        "por nuestros pecados.",
    ]
    assert fold(page, "In the beginning God created the heavens and the earth.", 36, "en") == [
        "In the beginning God created",
        "the heavens and the earth.",
    ]
    assert fold(page, "Paz.", 30) == ["Paz."]
    assert fold(page, "  ", 30) == []


def test_lines_are_as_few_as_can_be_and_none_is_too_long(page: Page) -> None:
    text = "Porque de tal manera amó Dios al mundo, que ha dado a su Hijo unigénito. " * 4
    for most in (12, 20, 33, 47, 80, 400):
        lines = fold(page, text, most)
        assert " ".join(lines) == text.strip()
        assert max(len(line) for line in lines) <= most
        greedy, width = 1, -1
        for word in text.split():
            if width + 1 + len(word) > most:
                greedy, width = greedy + 1, -1
            width += 1 + len(word)
        assert len(lines) == greedy
        if most > 12:
            assert all(" " in line for line in lines)


def test_pages_end_where_phrases_do(page: Page) -> None:
    """None of them needs more lines than are available, and no text is lost between them."""
    blessing = (
        "Amén. Que la gracia y la paz de nuestro Señor Jesucristo sean con todos ustedes, "
        "y que el amor del Padre los guarde siempre en este camino."
    )
    greeting = (
        "Yo, Pablo, siervo de Jesucristo, llamado a ser apóstol, apartado para el evangelio "
        "de Dios, que él había prometido antes por sus profetas en las santas Escrituras."
    )
    texts = [blessing, greeting, "El Señor es mi pastor.", ""]
    body = f"return {texts!r}.map((t) => m.paginate(t, 'es', 3, 29, (word) => word.length))"
    pages = run(page, "render/line_breaking", body)
    for text, parts in zip(texts, pages, strict=True):
        assert " ".join(parts) == text
        for part in parts:
            assert len(fold(page, part, 29)) <= 3
            assert part.split()[-1] not in {"a", "de", "el", "en", "la", "para", "que", "y"}
    assert pages[0][0].endswith("con todos ustedes,")
    assert pages[1][0].endswith("apóstol,")
    assert [len(parts) for parts in pages] == [2, 3, 1, 0]


def test_a_word_wider_than_the_line_has_one_for_itself(page: Page) -> None:
    lines = fold(page, "Es anticonstitucionalísimamente largo.", 10)
    assert lines == ["Es", "anticonstitucionalísimamente", "largo."]


def test_a_caption_of_a_word_or_two_joins_the_next(page: Page) -> None:
    blocks = run(
        page,
        "shared/blocks",
        """const say = (id, text, start_s, final = true, lang = "es") => ({id, seq: id * 2, final,
          start_s, end_s: start_s + 1, source: {lang: "en", text}, target: {lang, text}});
        const ids = (...captions) => m.blocksOf(captions, "es").map((block) =>
          [block.id, block.seq, block.final, block.captions.map((c) => c.id).join("")]);
        return [
          ids(say(1, "Amén.", 0), say(2, "Vamos a orar hoy.", 2), say(3, "Señor.", 4, false)),
          ids(say(1, "Amén.", 0), say(2, "Gloria.", 2), say(3, "Vamos a orar hoy.", 4, false)),
          ids(say(1, "Amén.", 0), say(2, "Vamos a orar hoy.", 9)),
          ids(say(1, "Amén", 0, false), say(2, "Vamos a orar hoy.", 2)),
          ids(say(1, "Amén.", 0), say(2, "Let us pray now.", 2, true, "en")),
          m.blocksOf([say(1, "Amén.", 0), say(2, "Sí.", 2)], "es").map((b) => m.blockText(b, "es")),
        ];""",
    )
    assert blocks == [
        [[1, 4, True, "12"], [3, 6, False, "3"]],
        [[1, 6, False, "123"]],
        [[1, 2, True, "1"], [2, 4, True, "2"]],
        [[1, 2, False, "1"], [2, 4, True, "2"]],
        [[1, 2, True, "1"], [2, 4, True, "2"]],
        ["Amén. Sí."],
    ]


@pytest.mark.parametrize(
    ("lang", "sentence", "amen"),
    [
        ("zh", "愿上帝赐给你们恩惠和平安。", "阿们。"),
        ("th", "ขอพระคุณและสันติสุขมีแก่ท่านทั้งหลาย", "อาเมน"),
    ],
)
@pytest.mark.parametrize("segmenter", ["Intl.Segmenter", "undefined"])
def test_sentences_without_spaces_are_more_than_a_word_or_two(
    page: Page, lang: str, sentence: str, amen: str, segmenter: str
) -> None:
    """Each gets its own line, as in other languages; otherwise they would merge endlessly."""
    page.reload()  # modules cache the segmenter that they find
    blocks, texts, few = run(
        page,
        "shared/blocks",
        f"""Intl.Segmenter = {segmenter};
        const say = (id, text) => ({{id, seq: id, final: true, start_s: id * 3, end_s: id * 3 + 2,
          source: {{lang: "en", text: "x"}}, target: {{lang: "{lang}", text}}}});
        const said = ["{sentence}", "{amen}", "{sentence}", "{sentence}"].map((t, i) => say(i, t));
        const blocks = m.blocksOf(said, "{lang}");
        return [blocks.map((block) => block.captions.map(({{id}}) => id)),
          blocks.map((block) => m.blockText(block, "{lang}")),
          (await import("/js/shared/words.js")).countWords("{amen}", "{lang}")];""",
    )
    page.reload()
    gap = " " if lang == "th" else ""
    if few <= 2:
        assert blocks == [[0], [1, 2], [3]]
        assert texts[1] == f"{amen}{gap}{sentence}"
    else:
        assert (segmenter, blocks) == ("undefined", [[0], [1], [2], [3]])


@pytest.mark.parametrize(
    ("lang", "text"),
    [
        ("zh", "“愿上帝赐给你们恩惠和平安”，保罗写信给罗马的教会说。我们今天读 Romans 8 章。"),
        ("ja", "神の恵みと平安が、皆さんの上に（いつも）ありますように。"),
        ("th", "ขอพระคุณและสันติสุขมีแก่ท่านทั้งหลาย จากพระเจ้าพระบิดาของเรา"),
    ],
)
def test_sentences_without_spaces_break_between_words(page: Page, lang: str, text: str) -> None:
    for most in (9, 14, 22, 99):
        body = f"return m.breakLines({text!r}, '{lang}', {most}, (t) => t.length)"
        lines = run(page, "render/line_breaking", body)
        assert max(len(line) for line in lines) <= most
        assert "".join(lines).replace(" ", "") == text.replace(" ", "")
        assert not any(line[0] in "，。、）”" or line[-1] in "“（" for line in lines), lines
    assert lines == [text]
    parts = run(
        page,
        "render/line_breaking",
        f"return m.paginate({text!r}, '{lang}', 2, 12, (t) => t.length)",
    )
    assert len(parts) > 1


def test_the_pages_language_is_one_that_they_speak(page: Page) -> None:
    picked = run(
        page,
        "shared/i18n",
        """return [m.pickLang(["", "es-MX", "en"]), m.pickLang(["sw", "EN-us"]), m.pickLang(["sw"]),
            m.languageName("es"), m.PAGE_LANGS.map((l) => `${Object.keys(m.words(l))}`)];""",
    )
    assert picked[:4] == ["es", "en", "en", "Español"]
    assert len(set(picked[4])) == 1  # every language has every word


PACER = """
const item = (id, length, final = true, text = "x".repeat(length)) =>
  ({id, final, source: {lang: "en", text}, target: {lang: "es", text}});
const pacer = new m.Pacer({fits: (list) => list.length <= FITS, textOf: (c) => c.target.text});
const ids = () => pacer.shown.map((c) => c.id).join("");
"""


def pace(page: Page, body: str, fits: int = 2) -> Any:
    return run(page, "render/pacing", PACER.replace("FITS", str(fits)) + body)


def test_one_leaves_only_when_it_could_be_read(page: Page) -> None:
    body = """pacer.offer(item(1, 100)); pacer.step(0); pacer.offer(item(2, 100));
    return [pacer.step(0), ids(), pacer.step(5499), ids(), pacer.step(5500) === Infinity, ids()];"""
    assert pace(page, body, fits=1) == [5500, "1", 1, "1", True, "2"]


def test_those_that_wait_shorten_the_time(page: Page) -> None:
    body = """pacer.offer(item(1, 100)); pacer.step(0);
    for (let id = 2; id <= 30; id += 1) pacer.offer(item(id, 100));
    const seen = [];
    for (let now = 0; now < 60000; now += 10) {
      pacer.step(now);
      if (seen.at(-1)?.[0] !== ids()) seen.push([ids(), now]);
    }
    return seen;"""
    seen = pace(page, body, fits=1)
    assert [int(number) for number, _ in seen] == list(range(1, 31))
    stays = [after - at for (_, at), (_, after) in pairwise(seen)]
    assert stays[0] == 500
    assert stays == sorted(stays)
    assert 5480 <= stays[-1] <= 5510


def test_only_what_changed_has_to_be_read_again(page: Page) -> None:
    body = """pacer.offer(item(1, 100, false)); pacer.step(0);
    pacer.offer(item(1, 0, true, "x".repeat(100) + "y".repeat(30))); pacer.step(6000);
    pacer.offer(item(2, 10));
    return [pacer.step(6000), pacer.step(7649), pacer.step(7650) === Infinity];"""
    assert pace(page, body, fits=1) == [1650, 1, True]


def test_a_partial_waits_for_its_final_but_not_for_ever(page: Page) -> None:
    body = """pacer.offer(item(1, 20, false)); pacer.step(0); pacer.offer(item(2, 20));
    const wait = pacer.step(5000);
    pacer.offer(item(1, 20, true)); pacer.step(5000); const after = ids();
    pacer.offer(item(3, 20, false)); pacer.step(20000); pacer.offer(item(4, 20));
    const patience = pacer.step(20000);
    pacer.step(30000);
    return [wait, after, patience, ids()];"""
    assert pace(page, body, fits=1) == [5000, "2", 10000, "4"]


def test_a_growing_revision_waits_for_room_as_well(page: Page) -> None:
    """It does not push out text that nobody has had time to read."""
    script = """const item = (id, text, final) => ({id, final, target: {text}});
    const pacer = new m.Pacer({textOf: (c) => c.target.text,
      fits: (list) => list.reduce((sum, c) => sum + c.target.text.length, 0) <= 100});
    const shown = () => pacer.shown.map((c) => c.target.text.length).join();
    pacer.offer(item(1, "x".repeat(60), true)); pacer.offer(item(2, "y".repeat(30), false));
    pacer.step(0);
    pacer.offer(item(2, "y".repeat(60), false));
    const early = [pacer.step(100), shown()];
    return [...early, pacer.step(3300) === Infinity, shown()];"""
    assert run(page, "render/pacing", script) == [3200, "60,30", True, "60"]


def test_what_left_or_was_hidden_stays_away(page: Page) -> None:
    body = """pacer.jump([1, 2, 3, 4].map((id) => item(id, 9)), 0);
    const jumped = ids();
    pacer.offer(item(2, 5)); pacer.step(0); const old = ids();
    pacer.remove(3); const hidden = ids();
    pacer.offer(item(5, 9)); pacer.step(0); const next = ids();
    pacer.clear(); pacer.offer(item(5, 50)); pacer.step(0);
    return [jumped, old, hidden, next, ids()];"""
    assert pace(page, body) == ["34", "34", "4", "45", ""]


def resumed(caption_id: int, seq: int, text: str) -> str:
    return message(caption_id, seq, text, "false")[:-1] + ", status: 'resumed'}"


def test_a_resumed_caption_stands_as_it_was_for_who_shows_finals_only(page: Page) -> None:
    shown = run(
        page,
        "shared/captions",
        f"""const c = new m.Captions(9);
        const seen = [];
        for (const each of [{message(1, 1, "a", "false")}, {message(1, 2, "b")},
          {resumed(1, 3, "b")}, {resumed(1, 4, "b c")}, {message(1, 5, "b c d")},
          {resumed(1, 6, "b c d")}, {message(1, 7, "")}, {message(1, 8, "e", "false")}]) {{
          c.put(each);
          seen.push([c.standing("es").map((x) => x.target.text).join(), c.finalOf(1)?.seq ?? 0]);
        }}
        return seen;""",
    )
    assert shown == [
        ["a", 0], ["b", 0], ["b", 2], ["b", 2], ["b c d", 0], ["b c d", 5], ["", 0], ["e", 0],
    ]  # fmt: skip


def test_the_wall_shows_what_stands_and_of_a_resumed_caption_never_less_than_before(
    page: Page,
) -> None:
    shown = run(
        page,
        "projector/committed",
        f"""const {{Captions}} = await import('/js/shared/captions.js');
        const c = new Captions(9);
        const seen = [];
        for (const [each, stable] of [[{message(1, 1, "a b", "false")}, 0],
          [{message(1, 2, "a b c", "false")}, 2], [{message(1, 3, "a b c.")}, 6],
          [{resumed(1, 4, "a b c d e")}, 3], [{resumed(1, 5, "a b c d e f")}, 9],
          [{message(1, 6, "")}, 0]]) {{
          c.put({{...each, stable}});
          seen.push(m.committed(c, "es").map((x) => x.target.text).join());
        }}
        return seen;""",
    )
    assert shown == ["", "a", "a b c.", "a b c.", "a b c d e", ""]


@pytest.mark.parametrize(
    ("before", "text", "new"),
    [
        ("No preguntes.", "No preguntes lo que", "lo que"),
        ("Ask not.", "ask not, what", "what"),
        ("Ask of.", "Ask often", "often"),
        ("uno dos", "tres uno dos", "tres uno dos"),
        ("uno dos tres", "uno dos", ""),
        ("", "uno", "uno"),
    ],
)
def test_what_is_new_in_a_text_that_goes_on(page: Page, before: str, text: str, new: str) -> None:
    assert run(page, "shared/words", f"return m.newIn({text!r}, {before!r}, 'es')") == new


PAGED = """
const block = (seq, text) => ({id: 7, lastId: 7, seq, final: true, captions: [
  {id: 7, seq, final: true, stable: 0, source: {lang: "en", text: "x"},
   target: {lang: "es", text}}]});
const measure = {lines: 1, most: 20, widthOf: (t) => t.length};
const told = (pages) => pages.map((page) => [page.id, page.text]);
const first = "uno dos tres cuatro cinco seis siete ocho nueve.";
const before = m.pagesOf(block(1, first), "es", measure);
"""


def paged(page: Page, text: str, gone: float = -1) -> tuple[list[Any], list[Any], float]:
    """Return the pages of a text, and those after the text has grown."""
    body = f"""const after = m.pagesOf(block(2, {text!r}), "es", {{...measure, before,
      gone: {gone}}});
    return [told(before), told(after), after.at(-1).lastId];"""
    found: tuple[list[Any], list[Any], float] = run(page, "projector/pages", PAGED + body)
    return found


def test_a_text_that_goes_on_keeps_its_pages_and_no_word_is_lost_or_repeated(page: Page) -> None:
    text = "uno dos tres cuatro cinco seis siete ocho nueve diez once doce."
    for gone in (-1, 7):
        before, after, last = paged(page, text, gone)
        assert after[: len(before) - 1] == before[:-1]
        assert " ".join(said for _, said in after) == text
        assert [key for key, _ in after] == sorted({key for key, _ in after})
        assert last == after[-1][0]


def test_what_has_changed_on_a_page_that_is_gone_comes_again(page: Page) -> None:
    text = "uno dos otros tres cuatro cinco seis siete ocho nueve diez."
    before, after, _ = paged(page, text, gone=7)
    assert min(key for key, _ in after) > 7
    assert " ".join(said for _, said in after) == text
    before, after, _ = paged(page, text)
    assert after[0][0] == before[0][0] == 7, "it is still there, and changes in place"


def test_a_page_is_not_kept_that_ends_within_a_word(page: Page) -> None:
    text = "uno dos trescientos cuatro cinco seis"
    before, after, _ = paged(page, text)
    assert before[0][1] == "uno dos tres"
    assert " ".join(said for _, said in after) == text
