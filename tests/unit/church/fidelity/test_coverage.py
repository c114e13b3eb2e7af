"""How much of a sentence a translation covers."""

from __future__ import annotations

import pytest

from pipeline.church.fidelity.coverage import coverage, lexicon_of, source_stem, target_stems

SAID = "The boiler broke, so keep your scarves on."


def test_a_confused_word_lowers_the_coverage_and_an_omitted_one_as_well() -> None:
    right = coverage(SAID, "en", "La caldera se rompió, así que déjense las bufandas.", "es")
    confused = coverage(SAID, "en", "El tambor se rompió, así que déjense las bufandas.", "es")
    omitted = coverage(SAID, "en", "Se rompió, así que déjense las bufandas.", "es")
    assert right is not None
    assert confused is not None
    assert confused < right - 1
    assert omitted == confused


@pytest.mark.parametrize(("lang", "target"), [("es", "en"), ("en", "ja")])
def test_of_other_languages_nothing_is_known(lang: str, target: str) -> None:
    assert lexicon_of(lang, target) == {}
    assert coverage(SAID, lang, SAID, target) is None


def test_names_and_unknown_words_say_nothing() -> None:
    assert coverage("And Zyzzyva met Boiler.", "en", "Y nada.", "es") == coverage(
        "And he met him.", "en", "Y nada.", "es"
    )
    assert coverage("", "en", "", "es") is None


@pytest.mark.parametrize(
    ("word", "other"),
    [("stopped", "stop"), ("baking", "baked"), ("boats", "boat"), ("Lambs", "lamb")],
)
def test_forms_of_a_word_have_one_stem(word: str, other: str) -> None:
    assert source_stem(word) == source_stem(other)


def test_a_target_stem_has_no_accent_and_no_ending() -> None:
    assert target_stems("Sembrábamos, sembraban: año 3") == ["sembr", "sembr", "año"]
