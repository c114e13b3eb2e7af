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


def test_other_languages_are_left_alone() -> None:
    assert lost("He did not die.", "Er starb.", ("en", "de")) == ""
