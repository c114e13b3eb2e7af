"""One file knows the languages, and a language that is added there is known everywhere."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from pipeline.core.languages import FILE, LANGUAGES, for_pages, language, read_languages

INVENTED = """
[qaa]
name = "Invented"
own = "Ινβεντ"
script = "GREEK"
direction = "rtl"
spaces = "nowhere"
starts = "και"
ties = "το"
titles = "κρ"
numbered = "βιβ"
worship = "αμην"
common = "και το να"
stock = ['ευχαριστω που ειδατε\\b.*']
weak = ["ναι"]
examples = ["ενα", "δυο", "τρια", "τεσσερα"]
"""

EVERYWHERE = """
import sys
from pathlib import Path
import pipeline.core.languages as languages

languages.LANGUAGES = languages.read_languages(Path(sys.argv[1]).read_text("utf-8"))

from pipeline.captions.subtitles import PHRASE, TIED, break_cost
from pipeline.config.loader import load
from pipeline.config.schema import Stt
from pipeline.core.types import Recognition
from pipeline.engines.output import WholeWords
from pipeline.engines.prompts import render
from pipeline.server.pages import Pages
from pipeline.text.hallucinations import reason
from pipeline.text.language_check import gibberish
from pipeline.text.sentences import split

assert load(Path(sys.argv[2]), {"translate.target": "qaa"}).settings.translate.target == "qaa"
assert gibberish("Grace and peace", "qaa") == "wrong-script"
assert gibberish("χαρις και ειρηνη", "qaa") == ""
assert break_cost("το", "φως", "qaa") == TIED
assert break_cost("φως", "και", "qaa") == PHRASE
assert "Invented (qaa)" in render("translategemma", "Grace.", "en", "qaa").head
assert "τεσσερα" in render("examples", "Grace.", "en", "qaa").head
assert split("Ο κρ. Παυλος ηρθε. Ναι.") == ["Ο κρ. Παυλος ηρθε.", "Ναι."]
assert split("Δες βιβ. 3 εδω.") == ["Δες βιβ. 3 εδω."]
unsure = Recognition("x", no_speech_prob=0.5, avg_logprob=-0.9, compression_ratio=1.0)
assert reason(unsure, "ευχαριστω που ειδατε το βιντεο", -20.0, 5.0) == "stock-phrase"
assert reason(unsure, "ναι", -60.0, 5.0) == "stock-phrase"
sure = Recognition("x", no_speech_prob=0.0, avg_logprob=-0.2, compression_ratio=1.0)
assert reason(sure, "αμην " * 6, -20.0, 5.0) == ""
assert reason(sure, "οχι " * 6, -20.0, 5.0) == "repetition"
shown = []
WholeWords("qaa", shown.append).add("φως".encode())
assert shown == ["φως"]
page = Pages(languages.bundled("displays"))._pages["/js/audience/main.js"].body.decode()
assert '"qaa":{"own":"Ινβεντ","direction":"rtl","spaces":"nowhere","leaning":["και","το"]}' in page
print("known everywhere")
"""


@pytest.mark.slow
def test_an_invented_language_is_one_entry_and_is_known_everywhere(tmp_path: Path) -> None:
    (tmp_path / "languages.toml").write_text(FILE.read_text("utf-8") + INVENTED, "utf-8")
    (tmp_path / "config.toml").touch()
    names = [str(tmp_path / name) for name in ("languages.toml", "config.toml")]
    done = subprocess.run(
        [sys.executable, "-c", EVERYWHERE, *names], capture_output=True, text=True, check=False
    )
    assert (done.stdout, done.stderr) == ("known everywhere\n", "")


def test_a_language_that_is_not_in_the_file_has_spaces_and_goes_from_left_to_right() -> None:
    unknown = language("qab")
    assert (unknown.own, unknown.direction, unknown.has_spaces) == ("qab", "ltr", True)
    assert unknown.leaning == frozenset()


def test_what_all_languages_share_with_their_pages() -> None:
    pages = for_pages()
    assert pages.keys() == LANGUAGES.keys()
    assert pages["pl"] == {"own": "Polski"}
    assert pages["ar"] == {"own": "العربية", "direction": "rtl"}
    assert pages["zh"] == {"own": "中文", "spaces": "nowhere"}
    assert {"the", "of", "so"} <= set(pages["en"]["leaning"])  # type: ignore[call-overload]


def test_every_entry_is_written_as_the_program_reads_it() -> None:
    for code, entry in LANGUAGES.items():
        assert entry.name, code
        assert entry.own, code
        words = entry.leaning | entry.titles | entry.numbered | entry.worship | entry.weak
        assert {word for word in words if word != word.casefold()} == set(), code
        assert len(entry.examples) in (0, 4), code


def test_a_misspelt_field_is_an_error() -> None:
    with pytest.raises(ValueError, match="direktion"):
        read_languages('xx = { name = "X", own = "X", script = "LATIN", direktion = "rtl" }')
