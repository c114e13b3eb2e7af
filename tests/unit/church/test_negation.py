"""A lost "not"."""

from __future__ import annotations

import pytest

from pipeline.church.negation import lost


@pytest.mark.parametrize(
    ("said", "written"),
    [
        ("He did not die in vain.", "Él murió en vano."),
        ("You shall never thirst.", "Tendrás sed."),
        ("They didn't listen to him.", "Ellos lo escucharon."),
        ("Nothing can separate us.", "Todo puede separarnos."),
    ],
)
def test_a_lost_negation_is_found(said: str, written: str) -> None:
    assert lost(said, written, ("en", "es"))


@pytest.mark.parametrize(
    ("said", "written"),
    [
        ("He did not die in vain.", "Él no murió en vano."),
        ("It is not possible.", "Es imposible."),
        ("He is not only good but holy.", "Él es bueno y también santo."),
        ("It's good, isn't it?", "Es bueno, ¿verdad?"),
        ("Why don't we pray?", "¿Oremos?"),
        ("No doubt he is risen.", "Sin duda ha resucitado."),
        ("There was nobody.", "La casa estaba vacía."),
        ("He is good.", "No es malo."),
    ],
)
def test_what_is_only_said_otherwise_is_not(said: str, written: str) -> None:
    assert lost(said, written, ("en", "es")) == ""


@pytest.mark.parametrize(
    ("said", "written", "langs"),
    [
        ("He did not die in vain.", "Il est mort en vain.", ("en", "fr")),
        ("You shall never thirst.", "Vous aurez soif.", ("en", "fr")),
        ("Nothing can separate us.", "Tout peut nous séparer.", ("en", "fr")),
        ("Il n'est pas mort en vain.", "He died for us.", ("fr", "en")),
        ("Personne ne vous condamne.", "Someone condemns you.", ("fr", "en")),
        ("Vous ne serez jamais seuls.", "You will always be alone.", ("fr", "en")),
    ],
)
def test_a_lost_negation_is_found_in_french(
    said: str, written: str, langs: tuple[str, str]
) -> None:
    assert lost(said, written, langs)


@pytest.mark.parametrize(
    ("said", "written", "langs"),
    [
        ("He did not die in vain.", "Il n’est pas mort en vain.", ("en", "fr")),
        ("It is not possible.", "C'est impossible.", ("en", "fr")),
        ("It isn't far.", "C'est à moins d'un kilomètre.", ("en", "fr")),
        ("I do not want you to be alone.", "Je refuse que tu restes ainsi.", ("en", "fr")),
        ("Don't forget your Bible.", "Prenez votre Bible.", ("en", "fr")),
        ("C'est beau, n'est-ce pas?", "It is beautiful.", ("fr", "en")),
        ("Il fit un pas vers lui.", "He took a step towards him.", ("fr", "en")),
        ("Avant qu'il ne vienne, priez.", "Pray, since he comes.", ("fr", "en")),
        ("Je n'ai que Jésus.", "I have Jesus alone.", ("fr", "en")),
    ],
)
def test_what_is_only_said_otherwise_in_french_is_not(
    said: str, written: str, langs: tuple[str, str]
) -> None:
    assert lost(said, written, langs) == ""


def test_other_languages_are_left_alone() -> None:
    assert lost("He did not die.", "Er starb.", ("en", "de")) == ""
