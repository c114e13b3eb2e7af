"""What counts as an interpreter's repetition, and what only sounds like it."""

from __future__ import annotations

import pytest

from pipeline.captions.interpreter import Interpreter
from pipeline.protocol.caption import CaptionMessage, SourceText, TargetText

SAID = "Dios es fiel, y nunca abandonará a los que confían en él."
AGAIN = "Dios es fiel y nunca abandona a quienes confían en Él."


def shown(key: int, text: str, *, lang: str = "en", end_s: float = 4.0) -> CaptionMessage:
    """Return a caption in Spanish of speech in `lang`."""
    return CaptionMessage(
        seq=key,
        id=key,
        revision=1,
        final=True,
        start_s=end_s - 3,
        end_s=end_s,
        source=SourceText(lang, "said"),
        target=TargetText("es", text, "heard" if lang == "es" else "gemma"),
        stable=0,
    )


@pytest.mark.parametrize(
    ("text", "start_s", "found"),
    [
        (AGAIN, 5.0, 1),
        ("Dios es fiel.", 5.0, 1),  # a part of it
        ("Dios es fiel y nunca abandona", 5.0, 1),
        ("Fui al médico el martes y me dijo que estaba bien.", 5.0, None),
        ("Amén, Dios.", 5.0, None),  # everybody says this
        (AGAIN + " Yo lo vi en el hospital cuando mi madre se enfermó.", 5.0, None),
        (AGAIN, 40.0, None),
        ("", 5.0, None),
    ],
)
def test_the_same_words_soon_after_are_said_again(
    text: str, start_s: float, found: int | None
) -> None:
    assert Interpreter().repeated(2, text, "es", start_s, [shown(1, SAID)]) == found


def test_only_what_was_spoken_in_another_language_is_said_again() -> None:
    assert Interpreter().repeated(2, AGAIN, "es", 5.0, [shown(1, SAID, lang="es")]) is None
    assert Interpreter().repeated(1, AGAIN, "es", 5.0, [shown(2, SAID)]) is None  # 2 came later


def test_two_sentences_may_become_one_and_nobody_goes_back() -> None:
    first, second = "Abramos la Biblia en el Salmo 23.", "El Señor es mi pastor."
    captions = [shown(1, first), shown(2, second, end_s=6.0)]
    both = "Abramos la Biblia en el Salmo 23, el Señor es mi pastor."
    assert Interpreter().repeated(3, both, "es", 7.0, captions) == 1
    follows = Interpreter()
    assert follows.repeated(3, second, "es", 7.0, captions) == 2
    assert follows.repeated(4, first, "es", 9.0, captions) is None


def test_who_repeats_himself_is_no_echo_of_his_interpreter() -> None:
    """The preacher says it twice, his interpreter once between, as English readers get it."""
    follows = Interpreter()
    assert follows.repeated(2, AGAIN, "es", 5.0, [shown(1, SAID)]) == 1
    said = "God is faithful and never leaves those who trust in him."
    made = shown(2, "", lang="es", end_s=8.0)
    english = CaptionMessage(
        **{name: getattr(made, name) for name in ("seq", "id", "revision", "final", "stable")},
        start_s=5.0,
        end_s=8.0,
        source=made.source,
        target=TargetText("en", said, "gemma"),
    )
    assert follows.repeated(3, said, "en", 9.0, [english]) is None
    assert Interpreter().repeated(3, said, "en", 9.0, [english]) == 2


def test_of_one_text_the_answer_stays_and_another_is_looked_at_anew() -> None:
    follows = Interpreter()
    assert follows.repeated(2, AGAIN, "es", 5.0, [shown(1, SAID)]) == 1
    assert follows.repeated(2, AGAIN, "es", 5.0, []) == 1
    assert follows.repeated(2, "Otra cosa muy distinta.", "es", 5.0, [shown(1, SAID)]) is None
    for key in range(3, 100):
        follows.repeated(key, AGAIN, "es", 5.0, [])
    assert len(follows._known) == 64
