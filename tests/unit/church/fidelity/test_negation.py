"""A lost "not"."""

from __future__ import annotations

import pytest

from pipeline.church.fidelity.negation import lost


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


@pytest.mark.parametrize(
    ("said", "written"),
    [
        ("He did not die in vain.", "Il est mort en vain."),
        ("You shall never thirst.", "Vous aurez soif."),
        ("They didn't listen to him.", "Ils l'ont écouté."),
        ("Nothing can separate us.", "Tout peut nous séparer."),
        ("They have no more wine.", "Ils ont plus de vin."),
        ("He did not take a step.", "Il a fait un pas."),
        ("He did not eat bread.", "Il n'a mangé que du pain."),
        ("I am not greater than you.", "Je suis plus grand que vous."),
        ("God does not forget you.", "Dieu pense à vous à jamais."),
        ("Nobody saw the person.", "Il a vu la personne."),
        ("They have no bread left.", "Ils ont encore du pain."),
    ],
)
def test_a_negation_that_french_lost_is_found(said: str, written: str) -> None:
    assert lost(said, written, ("en", "fr"))


@pytest.mark.parametrize(
    ("said", "written"),
    [
        ("He did not die in vain.", "Il n'est pas mort en vain."),
        ("I don't know.", "Je sais pas."),
        ("It is not possible.", "C'est impossible."),
        ("Nobody came.", "Personne."),
        ("They have no more wine.", "Ils n'ont plus de vin."),
        ("I have nothing but my voice.", "Je n'ai que ma voix."),
        ("No one can come except through me.", "On ne vient que par moi."),
        ("He is not only good but holy.", "Il est bon, et saint aussi."),
        ("It's good, isn't it?", "C'est bien, n'est-ce pas ?"),
        ("Why don't we pray?", "Et si nous priions ?"),
        ("Don't forget your Bible.", "Pensez à votre Bible."),
        ("There was nobody.", "La maison était vide."),
        ("Do not leave me.", "Reste sans me quitter."),
        ("He is good.", "Il n'est pas mauvais."),
        ("She has never lied.", "Elle a jamais menti."),
        ("Neither of them came.", "Aucun des deux n'est venu."),
        ("There is no hope left.", "C'est fini. Plus d'espoir."),
        ("You cannot outgive God.", "On ne peut pas donner plus que Dieu."),
    ],
)
def test_what_french_only_says_otherwise_is_not(said: str, written: str) -> None:
    assert lost(said, written, ("en", "fr")) == ""


@pytest.mark.parametrize(
    ("said", "written"),
    [
        ("Il n'est pas mort.", "He died."),
        ("J'ai jamais dit ça.", "I said that."),
        ("C'est pas vrai.", "It is true."),
        ("On sait rien de lui.", "We know him."),
        ("Il n'y a plus de vin.", "There is wine."),
        ("Personne ne l'a cru.", "They believed him."),
        ("Personne ne croit que Dieu dort.", "They think that God sleeps."),
        ("Il n'est pas encore venu.", "He has come."),
        ("Aucun d'eux ne s'est levé.", "They stood up."),
        ("Je ne vois que la personne qui n'écoute pas.", "I see the person who listens."),
    ],
)
def test_a_negation_that_was_said_in_french_and_lost_is_found(said: str, written: str) -> None:
    assert lost(said, written, ("fr", "en"))


@pytest.mark.parametrize(
    ("said", "written"),
    [
        ("Il n'a que deux fils.", "He has two sons."),
        ("Il ne reste plus que deux jours.", "Two days are left."),
        ("C'est bien, n'est-ce pas ?", "It is good."),
        ("Pas à pas, il avance.", "Step by step he goes on."),
        ("Il a fait un pas vers moi.", "He took a step towards me."),
        ("Il est plus grand que moi.", "He is taller than I am."),
        ("Cette personne est venue.", "This person came."),
        ("À lui la gloire, à jamais.", "His is the glory for ever."),
        ("Il est non seulement bon, mais saint.", "He is good, and holy too."),
        ("De rien, mon frère.", "You are welcome, brother."),
        ("N'oubliez pas vos enfants.", "Remember your children."),
        ("Que tu le veuilles ou non.", "Whether you like it."),
        ("Pourquoi ne pas prier ?", "Let us pray."),
        ("Avant qu'il ne vienne.", "As he comes."),
        ("Il n'est pas venu.", "He stayed away, he did not come."),
        ("N'importe qui peut venir.", "Anybody can come."),
        ("Elles comptent plus que vous ne le saurez jamais.", "They matter more than you know."),
    ],
)
def test_what_denies_nothing_in_french_is_left_alone(said: str, written: str) -> None:
    assert lost(said, written, ("fr", "en")) == ""


def test_french_and_spanish_are_compared_too() -> None:
    assert lost("No murió.", "Il est mort.", ("es", "fr"))
    assert lost("Il n'est pas mort.", "Murió.", ("fr", "es"))
    assert lost("Il n'est pas mort.", "No murió.", ("fr", "es")) == ""
