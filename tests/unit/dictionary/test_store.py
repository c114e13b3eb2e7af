"""The shipped dictionary: every rule does what it promises, and leaves other English alone.

At the end: the dictionary in force, to which operators add.
"""

from __future__ import annotations

import re
import resource
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.config.loader import load
from pipeline.core.errors import DictionaryError
from pipeline.dictionary.matcher import compile_lexicon
from pipeline.dictionary.near_names import near_names
from pipeline.dictionary.rules import Rule, parse_rules
from pipeline.dictionary.store import Dictionary, common_words, require_rare
from tests.support.corrections import corrected
from tests.support.examples import examples
from tests.support.paths import ROOT

FILE = ROOT / "dictionary" / "en.toml"
SHIPPED = parse_rules(FILE.read_text(encoding="utf-8"), FILE.name)
LEXICON = compile_lexicon(SHIPPED)
# A name has no example: its rule changes nothing.
RULES = [rule for rule in SHIPPED if rule.hear != (rule.write,)]
HOTWORDS = 40
"""The number of hot words that the recognizer gets."""

ELSEWHERE = """
Shares fell sharply after the company warned about its annual profit.
The pilot landed the plane safely in heavy rain.
My aunt moved to the Philippines with her two sons.
They met on a train, and the romance lasted all summer.
Two collisions were reported on the motorway.
First John washed the car, then Peter dried it.
Turn left at the next intersection and park behind the bank.
The cavalry crossed the river before dawn.
A leopard escaped from the zoo last night.
Her parakeet learned to whistle the national anthem.
The factory has stood idle since March.
Our neighbors are Armenian and make wonderful bread.
He spent three months in rehab after the accident.
The children planted palm trees along the street.
The salmon was grilled with lemon and butter.
The pistol was found under the driver's seat.
A millennial and a retired teacher share the house.
The rapper canceled his concert in Boston.
The warship returned to the harbor for repairs.
Gossip travels fast in a small village.
He looked haggard after the night shift.
Monday, Thursday and Friday are my busy days.
The laser is pointed at a small mirror.
May I say a few words about the budget?
They have a cook and a gardener.
The ball was thrown over the fence.
Hey man, can you give me a hand with this sofa?
The new convent school opens in the fall.
Her books fill a pie chart of last year's sales.
The doctor said that the amputation could be avoided.
The judge ruled that it was only hearsay.
His enunciation is so clear that everybody understands him.
My desk is messier than yours.
The chef heard the bell and ran upstairs.
Proposition 13 cut property taxes.
It is a costly proposition to mend the church roof.
The blood drive is a win-win proposition.
We vote on the proposition after church.
New sanctions against Russia were announced.
Congress lifted the sanctions on oil.
The government imposed sanctions, and there was no justification.
The elders have discussed sanctions for late payment.
The whole thing is just a fiction.
Critics think that faith is just a fiction.
That novel about grace is just a fiction.
Paper money is just a fiction.
The inter session break is over.
We pray for students in the inter session term.
Jesus is on the inter session schedule, said the college.
The malachite stone was green.
She wore a malachite ring to church.
The museum has a book on malachite and copper.
Who is the patron saint of vacation?
My aunt is the saint of vacation and travel.
They named her the saint of vacation.
No picture of a nebula can answer that.
A telescope and a golden nebula can answer your question.
Only a nebula can answer to that description, said the scientists.
The pre-destination briefing is at the airport.
Read the pre destination checklist of the airline.
The driver sets the pre destination in the app.
Trying to atone meant a day of hard work.
To atone meant to pay it all back.
He wanted to atone, meant it, and made coffee.
For what shall it profit a man, if he shall gain the whole world, and lose his own soul?
What profit is it that we have kept his ordinance before the LORD of hosts?
And ere the lamp of God went out in the temple of the LORD, Samuel was laid down to sleep.
The leopard shall lie down with the kid, and the calf and the young lion together.
""".strip().splitlines()
"""Phrases that rules match, but with another meaning: the rules must not change them."""

CORRECT = (
    "scripts/bench/church/plain_en.txt",
    "scripts/bench/church/terms_en.txt",
    "training/data/sermon_phrases.tsv",
)


def corrects_its_example(rule: Rule) -> bool:
    """Whether a rule turns its example into the promised text, for every heard form."""
    result = corrected(LEXICON, rule.example)
    if result.text != rule.becomes or [each.rule for each in result.corrections] != [rule.id]:
        return False
    (fix,) = result.corrections
    before, after = rule.example[: fix.start], rule.example[fix.start + len(fix.found) :]
    heard = [corrected(LEXICON, before + phrase + after) for phrase in rule.hear]
    return all(
        each.text.casefold() == rule.becomes.casefold()
        and [correction.rule for correction in each.corrections] == [rule.id]
        for each in heard
    )


def changed(texts: Iterable[str]) -> list[str]:
    """Return the texts that the dictionary changes."""
    return [text for text in texts if corrected(LEXICON, text).text != text]


# One test for all rules: a test per rule costs more than its check in each `make check` process.
@pytest.mark.slow
def test_a_rule_corrects_its_example_in_every_hearing() -> None:
    assert [rule.id for rule in RULES if not corrects_its_example(rule)] == []


def test_a_rule_leaves_correct_text_alone() -> None:
    correct = [
        text
        for rule in RULES
        for text in (rule.becomes, rule.write, f"{rule.write}'s", *rule.untouched)
    ]
    assert len(correct) > 3 * len(RULES)
    assert changed(correct) == []


def test_a_rule_that_asks_for_context_needs_it() -> None:
    asking = [rule for rule in RULES if rule.near]
    assert asking
    assert [rule.id for rule in asking if not rule.untouched] == []
    alone = [f"We say {phrase} here." for rule in asking for phrase in rule.hear]
    assert [text for text in alone if corrected(LEXICON, text).corrections] == []


def test_words_that_rules_hear_are_untouched_in_other_sentences() -> None:
    assert changed(ELSEWHERE) == []
    assert changed(text.lower() for text in ELSEWHERE) == []


@pytest.mark.parametrize("name", CORRECT)
def test_everyday_english_and_sermon_are_untouched_in_one_breath_too(name: str) -> None:
    texts = [line.split("\t")[0] for line in (ROOT / name).read_text("utf-8").splitlines()]
    assert len(texts) > 200
    assert changed([*texts, " ".join(texts)]) == []


def test_every_hotword_reaches_the_recognizer() -> None:
    assert LEXICON.hotwords(HOTWORDS) == LEXICON.hotwords(len(RULES))
    assert "Nebuchadnezzar" in LEXICON.hotwords(HOTWORDS)


def test_the_manual_shows_rules_that_work_and_names_every_error() -> None:
    manual = (ROOT / "docs" / "DICTIONARY.md").read_text(encoding="utf-8")
    shown = re.findall(r"```toml\n(.*?)```", manual, re.DOTALL)
    own = [rule for text in shown if "[[rule]]" in text for rule in parse_rules(text, "church")]
    church = compile_lexicon([*RULES, *own])
    assert corrected(church, "Here is pastor oil a ran's wife").text.startswith("Here is Pastor Oy")
    assert corrected(church, "He stood before the alter").corrections == ()
    tried = [rule for rule in own if rule.example]
    assert tried
    for rule in tried:
        assert corrected(church, rule.example).text == rule.becomes
        for text in rule.untouched:
            assert corrected(church, text).text == text
    source = (ROOT / "pipeline" / "dictionary" / "rules.py").read_text(encoding="utf-8")
    for code in re.findall(r'"(dictionary-[a-z-]+)"', source):
        assert f"`{code}`" in manual


@given(
    st.lists(
        st.sampled_from(
            sorted(
                {word for rule in RULES for word in (*rule.hear, *rule.near, *rule.not_near)}
                | {rule.write for rule in RULES}
            )
        ),
        max_size=12,
    )
)
def test_correcting_twice_changes_nothing(pieces: list[str]) -> None:
    once = corrected(LEXICON, ", ".join(pieces))
    assert corrected(LEXICON, once.text).text == once.text


# The dictionary in force

UTC_NOW = datetime(2026, 11, 22, 9, 41, tzinfo=UTC)
CHURCH = """# our names
[[rule]]
hear = ["oil a ran"]   # as in "oil"
write = "Oyelaran"
"""


def dictionary(directory: Path, own: str = "", **flags: Any) -> Dictionary:
    given = {"session.directory": str(directory), "dictionary.file": own}
    return Dictionary(load(flags=given | flags).settings)


@pytest.mark.slow
def test_a_rule_is_appended_to_the_churchs_file_and_in_force_at_once(tmp_path: Path) -> None:
    own = tmp_path / "church.toml"
    own.write_text(CHURCH)
    own.chmod(0o640)
    church = dictionary(tmp_path, str(own))
    rule, text = church.add("filly mun", "Philemon", UTC_NOW)
    assert (rule.id, rule.hear, rule.write) == ("philemon", ("filly mun",), "Philemon")
    assert own.read_text() == f"{CHURCH}{text}"
    assert text == (
        "\n# Added by an operator on 2026-11-22 at 09:41 UTC\n"
        '[[rule]]\nid = "philemon"\nhear = ["filly mun"]\nwrite = "Philemon"\n'
    )
    assert corrected(church.lexicon, "oil a ran and filly mun").text == "Oyelaran and Philemon"
    assert own.stat().st_mode & 0o777 == 0o640
    assert not church.changed()
    assert list(tmp_path.iterdir()) == [own]  # no half-written file is left
    church.remove(text)
    assert own.read_text() == CHURCH
    assert corrected(church.lexicon, "filly mun").text == "filly mun"


@pytest.mark.slow
def test_the_file_is_made_in_the_sessions_folder_and_read_at_the_next_start(tmp_path: Path) -> None:
    directory = tmp_path / "sessions"
    church = dictionary(directory)
    assert (church.own, church.own.exists()) == (directory / "dictionary.toml", False)
    _, text = church.add("filly mun", "Philemon", UTC_NOW)
    assert corrected(dictionary(directory).lexicon, "filly mun").text == "Philemon"
    church.remove(text)
    assert corrected(dictionary(directory).lexicon, "filly mun").text == "filly mun"
    church.own.write_text(CHURCH)
    assert church.changed()
    church.take(dictionary(directory))
    assert corrected(church.lexicon, "oil a ran").text == "Oyelaran"


@pytest.mark.slow
@pytest.mark.parametrize(
    "content", [CHURCH.replace("\n", "\r\n"), "\ufeff" + CHURCH, CHURCH[:-1], ""]
)
def test_however_the_file_was_written_it_stays_so(tmp_path: Path, content: str) -> None:
    own = tmp_path / "church.toml"
    own.write_bytes(content.encode())
    church = dictionary(tmp_path, str(own))
    _, text = church.add('say "amen" \\', "Amén", UTC_NOW)
    assert own.read_bytes().decode().startswith(content)
    assert ("\r\n" in text) == ("\r\n" in content)
    assert corrected(church.lexicon, "say amen").text == "Amén"
    church.remove(text)
    assert own.read_bytes().decode().rstrip("\n") == content.rstrip("\n")


def test_the_same_word_may_be_heard_in_two_ways_but_not_the_same_way_twice(tmp_path: Path) -> None:
    church = dictionary(tmp_path)
    ids = [church.add(heard, "Philemon", UTC_NOW)[0].id for heard in ("filly mun", "fill a man")]
    assert ids == ["philemon", "philemon-2"]
    before = church.own.read_text()
    with pytest.raises(DictionaryError, match="dictionary-duplicate-phrase"):
        church.add("Filly  Mun", "Lemon", UTC_NOW)
    assert church.own.read_text() == before


def test_a_file_that_would_not_be_valid_is_left_alone(tmp_path: Path) -> None:
    own = tmp_path / "church.toml"
    own.write_text(CHURCH)
    church = dictionary(tmp_path, str(own))
    own.write_text("[[rule]\n")  # somebody is editing the file
    with pytest.raises(DictionaryError, match="dictionary-not-toml"):
        church.add("filly mun", "Philemon", UTC_NOW)
    assert own.read_text() == "[[rule]\n"
    assert corrected(church.lexicon, "oil a ran").text == "Oyelaran"


def test_a_rule_that_somebody_has_changed_is_not_taken_out(tmp_path: Path) -> None:
    church = dictionary(tmp_path)
    _, text = church.add("filly mun", "Philemon", UTC_NOW)
    changed = church.own.read_text().replace("filly mun", "filly a mun")
    church.own.write_text(changed)
    with pytest.raises(DictionaryError, match="dictionary-rule-gone"):
        church.remove(text)
    assert church.own.read_text() == changed


def test_what_cannot_be_written_is_told_and_changes_nothing(tmp_path: Path) -> None:
    church = dictionary(tmp_path)
    (tmp_path / "dictionary.toml.tmp").mkdir()  # blocks the write for any user
    with pytest.raises(DictionaryError, match="dictionary-unwritable") as caught:
        church.add("filly mun", "Philemon", UTC_NOW)
    assert caught.value.fix
    assert corrected(church.lexicon, "filly mun").text == "filly mun"
    switch: dict[str, Any] = {"dictionary.enabled": False}
    off = dictionary(tmp_path, **switch)
    with pytest.raises(DictionaryError, match="dictionary-off"):
        off.add("filly mun", "Philemon", UTC_NOW)


def test_a_link_to_the_file_stays_one(tmp_path: Path) -> None:
    (tmp_path / "real.toml").write_text(CHURCH)
    own = tmp_path / "church.toml"
    own.symlink_to("real.toml")
    dictionary(tmp_path, str(own)).add("filly mun", "Philemon", UTC_NOW)
    assert own.is_symlink()
    assert "Philemon" in (tmp_path / "real.toml").read_text()


WORDS = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=20)


@pytest.mark.slow
@settings(deadline=None, max_examples=examples(40))
@given(st.lists(st.tuples(WORDS, WORDS), max_size=4))
def test_whatever_is_added_the_file_stays_valid(
    tmp_path_factory: pytest.TempPathFactory, pairs: list[tuple[str, str]]
) -> None:
    # A language without shipped rules.
    church = dictionary(tmp_path_factory.mktemp("sessions"), **{"translate.source": "sw"})
    added, refused = [], set[str]()
    for heard, write in pairs:
        try:
            added.append(church.add(heard, write, UTC_NOW))
        except DictionaryError as error:
            refused.add(error.code)
    assert refused <= {
        "dictionary-empty-phrase", "dictionary-duplicate-phrase", "dictionary-missing-key"
    }  # fmt: skip
    rules = parse_rules(church.own.read_text(), "own") if added else ()
    assert [(r.id, r.hear[0]) for r in rules] == [(rule.id, rule.hear[0]) for rule, _ in added]
    for _, text in reversed(added):
        church.remove(text)
    if added:
        assert church.own.read_text() == ""


def test_a_file_of_more_than_a_megabyte_is_refused(tmp_path: Path) -> None:
    own = tmp_path / "own.toml"
    own.write_text("[lists.a.b]\nx = 1\n" * 60_000)
    with pytest.raises(DictionaryError) as caught:
        dictionary(tmp_path, str(own))
    assert caught.value.code == "dictionary-too-large"
    assert str(own) in caught.value.message


@pytest.mark.slow
def test_where_no_file_can_be_opened_any_more_what_is_in_force_stays(tmp_path: Path) -> None:
    """Many connections take all descriptors: the check of the files must not end a service."""
    made = dictionary(tmp_path)
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(
        resource.RLIMIT_NOFILE, (len(list(Path("/proc/self/fd").iterdir())) - 1, hard)
    )
    try:
        assert not made.changed()
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert made.glossaries.of("es").find("the covenant of grace")
    assert not made.changed()


def test_translations_are_compared_with_names_of_the_church_and_of_the_notes(
    tmp_path: Path,
) -> None:
    made = dictionary(tmp_path)
    assert not made.glossaries.names  # the shipped rules name no member of a church
    made.add("grase", "Grace", UTC_NOW)
    rule = made.hold("fayth", "Faith")
    made.names = near_names(["Hope"], set())
    assert set(made.glossaries.names) == {"grace", "faith", "hope"}
    made.release(rule)
    made.names = None
    assert set(made.glossaries.names) == {"grace"}


@pytest.mark.parametrize(
    ("said", "written"),
    [
        ("They went to Assyria.", None),
        ("Then Judea's king, an Israeli and Azariah came.", None),
        ("They went to Sirya.", "They went to Syria."),
    ],
)
def test_a_known_name_is_no_other_name_of_the_notes(
    tmp_path: Path, said: str, written: str | None
) -> None:
    """With Syria in the notes Assyria became Syria, and Judea became Judah."""
    made = dictionary(tmp_path)
    made.names = near_names(["Syria", "Judah", "Israel", "Sarah"], set())
    assert corrected(made.lexicon_for(said), said).text == (written or said)


@pytest.mark.parametrize("heard", ["soul", "health", "help", "Hope", "it's", "sermon"])
def test_a_rule_for_an_everyday_word_is_refused_and_says_why(heard: str) -> None:
    with pytest.raises(DictionaryError) as raised:
        require_rare(heard, "en")
    assert raised.value.code == "dictionary-common-word"
    assert "everyday word" in raised.value.message
    assert raised.value.fix


@pytest.mark.parametrize("heard", ["spurgin", "row mans", "my health comes", "Habakuk", "..."])
def test_strange_words_and_phrases_may_have_a_rule(heard: str) -> None:
    require_rare(heard, "en")


def test_a_language_without_a_list_refuses_nothing() -> None:
    assert common_words("ko") == frozenset()
    require_rare("soul", "ko")


BOTH: dict[str, Any] = {"translate.source": ["en", "es"]}
YOHANNES = '[[rule]]\nhear = "yo-hans"\nwrite = "Yohannes"\n'


def test_the_churchs_own_rules_hold_in_every_spoken_language(tmp_path: Path) -> None:
    (tmp_path / "dictionary.toml").write_text(YOHANNES)
    made = dictionary(tmp_path, **BOTH)
    heard = "Yo-Hans said sank to fication."
    english, spanish = (made.lexicon_for(heard, (), lang) for lang in ("en", "es"))
    assert corrected(english, heard).text == "Yohannes said sanctification."
    assert corrected(spanish, heard).text == "Yohannes said sank to fication."
    # An operator's rule takes effect at once in both languages.
    made.hold("el sabet", "Elisabet")
    assert corrected(made.lexicon_of("es"), "el sabet").text == "Elisabet"
    assert not made.changed()
    (tmp_path / "glossary.es-en.toml").write_text('term = [{ say = "gracia", write = "grace" }]\n')
    assert made.changed()
    made.take(dictionary(tmp_path, **BOTH))
    assert made.glossaries_of("es").of("en").find("La gracia de Dios.")
    assert not made.glossaries.of("en").find("La gracia de Dios.")


def test_a_mistake_in_one_file_puts_nothing_of_the_others_in_force(tmp_path: Path) -> None:
    made = dictionary(tmp_path, **BOTH)
    (tmp_path / "dictionary.toml").write_text(YOHANNES)
    entry = '[[term]]\nsay = "covenant"\nwrite = "alianza"\n'
    (tmp_path / "glossary.en-es.toml").write_text(entry)
    (tmp_path / "glossary.es-en.toml").write_text("term = [")
    with pytest.raises(DictionaryError, match=r"glossary\.es-en"):
        made.take(dictionary(tmp_path, **BOTH))
    (found,) = made.glossaries.of("es").find("covenant")
    assert found.forms[0] == "pacto"
    assert corrected(made.lexicon, "yo-hans").text == "yo-hans"
    (tmp_path / "glossary.es-en.toml").unlink()
    made.take(dictionary(tmp_path, **BOTH))
    (found,) = made.glossaries.of("es").find("covenant")
    assert found.forms[0] == "alianza"


def test_rules_that_are_held_stay_in_force_all_through_a_reload(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made, other = dictionary(tmp_path), dictionary(tmp_path)
    rule = made.hold("el sabet", "Elisabet")
    in_force: list[bool] = []
    tell = Dictionary._tell_names

    def watched(self: Dictionary) -> None:
        in_force.append(rule in self.lexicon.rules)
        tell(self)

    monkeypatch.setattr(Dictionary, "_tell_names", watched)
    made.take(other)
    assert in_force == [True]
