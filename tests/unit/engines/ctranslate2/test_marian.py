from __future__ import annotations

import json
import shutil
from pathlib import Path
from types import SimpleNamespace

import ctranslate2
import pytest

from pipeline.core.errors import EngineError, ModelError
from pipeline.core.resources import bundled
from pipeline.core.standing import Standing
from pipeline.core.types import Translation
from pipeline.engines.ctranslate2.marian import Marian
from pipeline.engines.protocols import SentencePair, TranslationRequest
from pipeline.text.commit_policy import TargetCommit, follows
from tests.support.needs import needs_file

STARTER = bundled("models", "starter", "marian")


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """A copy of the starter model that a test may break."""
    needs_file(STARTER)
    return shutil.copytree(STARTER, tmp_path / "marian")


def test_translates(marian: Marian) -> None:
    translation = marian.translate("God is good.")
    assert translation.text == "Dios es bueno."
    assert translation.engine == marian.name == "marian"
    assert translation.stopped == "end"
    assert translation.tokens >= 3
    assert translation.avg_logprob is not None
    assert -1.5 < translation.avg_logprob < 0.0


def test_a_model_of_several_languages_is_told_which() -> None:
    engine = Marian(STARTER, target="fr")
    engine.load()
    assert engine.translate("God is good.").text == "Dieu est bon."
    assert engine.translate("Thank you. Good morning, church.").text.startswith("Merci. Bonjour")
    # `looked_at` counts the text's own pieces, without the language token before them.
    source = engine._source.encode("God is good.")
    (part,) = engine.translate("God is good.", TranslationRequest(standing=Standing())).parts
    assert max(part.looked_at) < len(source) + len(engine._end)
    (right, _), (wrong, _) = engine.score("God is good.", ["Dieu est bon.", "Dios"])
    assert right > wrong

    engine.target = "es"  # its own language, which has no token
    assert engine.translate("God is good.").text == "Dios es bueno."


def test_nothing_from_nothing(marian: Marian) -> None:
    assert marian.translate(" \n") == Translation("", "marian")


def test_what_is_said_later_changes_and_loses_no_sentence(marian: Marian) -> None:
    texts = ["God is good.", "He loves us.", "I have a house.", "Where is the book?"]
    single = [marian.translate(text).text for text in texts]
    assert marian.translate(" ".join(texts)).text == " ".join(single)


MOSES = "And the Lord said to Moses, go down to the people and tell them."


def test_a_partial_tells_what_it_was_made_of(marian: Marian) -> None:
    made = marian.translate(
        MOSES, TranslationRequest(standing=Standing(source=len("And the Lord")))
    )
    (part,) = made.parts
    assert made.text == marian.translate(MOSES).text
    assert [made.text[:until] for until in part.until][-1] == made.text
    assert len(part.pieces) == len(part.until) == len(part.looked_at)
    assert follows(part.looked_at)
    assert (part.settled, part.is_whole) == (3, False)
    assert marian.translate(MOSES).parts == ()


LETTER = SentencePair("The letter came on Friday.", "La carta llegó el viernes.")
READ = "I read it three times."


def test_a_sentence_is_translated_behind_the_one_before(marian: Marian, copy: Path) -> None:
    made = marian.translate(READ, TranslationRequest(previous=LETTER, rivals=()))
    assert made.text.startswith("La leí")
    assert {each.text for each in made.alternatives} >= {made.text}
    assert not any("carta" in each.text for each in made.alternatives)
    assert marian.translate(f"{LETTER.source} {READ}").text.endswith(made.text)
    # `settled` and `looked_at` count the sentence's own pieces.
    standing = Standing(source=len("I read"))
    (part,) = marian.translate(READ, TranslationRequest(standing=standing, previous=LETTER)).parts
    assert part.settled == len(marian._source.encode("I read"))
    assert max(part.looked_at) < len(marian._source.encode(READ)) + len(marian._end)
    assert follows(part.looked_at)
    forced = Standing(pieces=(part.pieces[:2],))
    again = marian.translate(READ, TranslationRequest(standing=forced, previous=LETTER))
    assert again.parts[0].pieces == part.pieces

    # A model trained on single sentences gets single sentences.
    config = copy / "config.json"
    config.write_text(config.read_text().replace("joins_sentences", "other"))
    alone = Marian(copy)
    alone.load()
    assert alone.translate(READ, TranslationRequest(previous=LETTER)).text != made.text


def test_it_goes_on_from_what_stands(marian: Marian) -> None:
    (part,) = marian.translate(MOSES, TranslationRequest(standing=Standing())).parts
    forced = (part.pieces[:4],)
    again = marian.translate(MOSES, TranslationRequest(standing=Standing(pieces=forced)))
    assert again.parts[0].pieces == part.pieces
    whole = marian.translate(MOSES, TranslationRequest(standing=Standing(pieces=(part.pieces,))))
    assert whole.parts[0].pieces == part.pieces, "it ends right behind what stands"
    other = marian.translate("He loves us.", TranslationRequest(standing=Standing(pieces=forced)))
    assert other.parts[0].pieces[:4] == part.pieces[:4]


def test_what_is_closed_is_not_translated_again(
    marian: Marian, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = f"God is good. {MOSES}"
    made = marian.translate(text, TranslationRequest(standing=Standing(source=len(text))))
    translated: list[object] = []
    real = marian._translator

    def translate_batch(source: object, **options: object) -> object:
        translated.append(source)
        return real.translate_batch(source, **options)

    monkeypatch.setattr(marian, "_translator", SimpleNamespace(translate_batch=translate_batch))
    pieces = tuple(part.pieces for part in made.parts)
    again = marian.translate(text, TranslationRequest(standing=Standing(pieces=pieces, closed=2)))
    assert again.text == made.text
    assert len(translated) == 1, "the last one is never closed"
    # It was no full stop after all: one sentence gets the pieces of both.
    joined = marian.translate(
        f"God is good and {MOSES}", TranslationRequest(standing=Standing(0, 0, pieces, 1))
    )
    assert len(joined.parts) == 1
    assert joined.parts[0].pieces[: len(pieces[0])] == pieces[0]


@pytest.mark.slow
def test_a_sentence_that_grows_takes_no_word_back(marian: Marian) -> None:
    policy, shown, spoken = TargetCommit(), "", MOSES.split()
    for count in range(2, len(spoken)):
        text = " ".join(spoken[:count])
        settled = len(" ".join(spoken[: count - 2]))
        standing = Standing(settled, 0, policy.committed, policy.closed)
        made = marian.translate(text, TranslationRequest(standing=standing))
        now = made.text[: policy.push(made.parts)]
        assert now.startswith(shown)
        shown = now
    assert len(shown.split()) > 4


@pytest.mark.slow
def test_a_sentence_longer_than_the_model_takes(marian: Marian) -> None:
    """The text has no full stop, and more pieces than the model has positions."""
    text = "the Lord is my light and my salvation, " * 60
    assert len(marian._source.encode(text)) > 512
    assert len(marian.translate(text).text.split()) > 100


def test_a_text_is_reported_once(marian: Marian) -> None:
    seen: list[str] = []
    translation = marian.translate("God is good. He loves us.", TranslationRequest(seen.append))
    assert seen == [translation.text]


def test_a_loop_is_cut(marian: Marian, monkeypatch: pytest.MonkeyPatch) -> None:
    """The library's answer is replaced: a good model loops in only a few texts of a thousand."""
    pieces = ["▁Dios", *["▁es", "▁bueno", ","] * 9, "▁es"]
    result = SimpleNamespace(hypotheses=[pieces], scores=[-0.5])
    looping = SimpleNamespace(translate_batch=lambda *_, **__: [result])
    monkeypatch.setattr(marian, "_translator", looping)
    translation = marian.translate("God is good.")
    assert translation.text == "Dios es bueno,"
    assert translation.stopped == "loop"


def test_what_is_repeated_in_the_source_is_no_loop(marian: Marian) -> None:
    translation = marian.translate("holy, " * 7 + "holy is the Lord.")
    assert translation.stopped == "end"
    assert translation.text.lower().count("sant") >= 4


def test_characters_that_no_piece_has(marian: Marian) -> None:
    text = marian.translate("☃ 漢字 \x00 Ω").text
    assert "<unk>" not in text
    assert marian.translate("God is good.").text == "Dios es bueno."


def test_control_tokens_are_spoken_text(marian: Marian) -> None:
    assert "</s>" not in marian.translate("God is </s> good. <pad>").text
    assert marian.translate("God is </s> good.").tokens > 3


def test_whatever_is_raised_is_an_engine_error(marian: Marian) -> None:
    with pytest.raises(EngineError, match=r"\[marian-failed\]"):
        marian.translate("God is \ud800 good.")  # half a character, which no text should hold
    assert marian.translate("God is good.").text == "Dios es bueno."


def test_the_end_token_is_added_once(copy: Path, marian: Marian) -> None:
    """Some converters have CTranslate2 add it; the settings of the model say so."""
    config = json.loads((copy / "config.json").read_text())
    (copy / "config.json").write_text(json.dumps(config | {"add_source_eos": True}))
    engine = Marian(copy)
    engine.load()
    assert engine.translate("God is good.") == marian.translate("God is good.")


def test_a_model_that_loads_and_does_not_work(monkeypatch: pytest.MonkeyPatch) -> None:
    needs_file(STARTER)
    monkeypatch.setattr(ctranslate2.Translator, "translate_batch", lambda *_, **__: [])
    with pytest.raises(ModelError, match=r"^model: marian.*\[model-broken\]"):
        Marian(STARTER).load()


def test_an_incomplete_model(copy: Path) -> None:
    (copy / "source.spm").unlink()
    with pytest.raises(ModelError, match=r"^model: .* lacks source\.spm.*\[model-missing\]"):
        Marian(copy).load()


@pytest.mark.parametrize("name", ["model.bin", "source.spm", "target.spm", "config.json"])
def test_a_broken_file(copy: Path, name: str) -> None:
    (copy / name).write_bytes(b"junk" * 100)
    with pytest.raises(ModelError, match=r"^model: .*\[model-broken\]"):
        Marian(copy).load()


def test_a_right_translation_scores_better_than_a_wrong_one(marian: Marian) -> None:
    texts = ["Dios es bueno.", "El perro come piedras."]
    (good, least), (bad, _) = marian.score("God is good.", texts)
    assert -1.0 < good < 0.0
    assert least <= good
    assert bad < good - 2


def test_what_was_said_before_decides_what_a_pronoun_means(marian: Marian) -> None:
    texts = ["La leí tres veces.", "Lo leí tres veces."]
    leads = []
    for previous in (SentencePair("The letter came.", "La carta llegó."), None):
        (her, _), (him, _) = marian.score("I read it three times.", texts, previous)
        leads.append(her - him)
    assert leads[0] > leads[1] + 0.2
    too_long = SentencePair("and so on " * 60, "y así " * 60)
    scores = (marian.score("I read it.", texts, each) for each in (too_long, None))
    assert next(scores) == next(scores)


def test_the_best_translations_of_one_sentence_the_best_first(marian: Marian) -> None:
    made = marian.translate("God is good.", TranslationRequest(rivals=()))
    found = [each.text for each in made.alternatives]
    assert made.text == found[0]
    assert len(set(found)) == len(found) > 1
    means = [mean for mean, _ in marian.score("God is good.", found)]
    assert max(means) == means[0]
    assert marian.translate("God is good. Amen.", TranslationRequest(rivals=())).alternatives == ()
    assert marian.translate("God is good.").alternatives == ()
