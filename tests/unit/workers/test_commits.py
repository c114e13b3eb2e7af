"""What is committed of an utterance, from partial to partial and up to its final."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import accumulate
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.config.schema import Stt
from pipeline.core.standing import Reopened, Standing, TargetPart, Token
from pipeline.core.types import (
    SAMPLE_RATE,
    Caption,
    Correction,
    Recognition,
    Transcript,
    Translation,
    Utterance,
)
from pipeline.workers.commits import Commitments, corrected

MARK = "\u2581"


def utterance(seconds: float, id: int = 1, *, final: bool = False) -> Utterance:  # noqa: A002
    pcm = np.zeros(round(seconds * SAMPLE_RATE), np.float32)
    return Utterance(id, 1, final, "silence" if final else "partial", 0, len(pcm), pcm)


def heard(
    text: str,
    *,
    id: int = 1,  # noqa: A002
    final: bool = False,
    corrections: Sequence[Correction] = (),
) -> Transcript:
    """Words of half a second each, and half a second more of sound."""
    words = text.split()
    until = accumulate(len(word) + (place > 0) for place, word in enumerate(words))
    tokens = tuple(
        Token(hash(word) % 999, f" {word}", end) for word, end in zip(words, until, strict=True)
    )
    ends_s = tuple(0.5 * (place + 1) for place in range(len(words)))
    recognition = Recognition(text) if final else Recognition(text, tokens=tokens, ends_s=ends_s)
    shown = text
    for correction in corrections:
        shown = shown.replace(correction.found, correction.replacement)
    return Transcript(
        utterance(0.5 * len(words) + 0.5, id, final=final), "en", text, shown, recognition,
        tuple(corrections),
    )  # fmt: skip


def translated(transcript: Transcript, text: str, standing: Standing) -> Caption:
    """A word-for-word translation that continues the committed prefix."""
    forced = [piece for pieces in standing.pieces for piece in pieces]
    pieces = [*forced, *(MARK + word for word in text.split()[len(forced) :])]
    until = tuple(accumulate(len(p) - (n == 0) for n, p in enumerate(pieces)))
    settled = len(transcript.text[: standing.source].split())
    part = TargetPart(tuple(pieces), until, tuple(range(len(pieces))), settled, is_whole=False)
    made = "".join(pieces).replace(MARK, " ").strip()
    return Caption(
        transcript, "es", made, "marian", False, translation=Translation(made, "m", parts=(part,))
    )


class Speech:
    """Passes partials and finals to `Commitments` as the transcribe thread does."""

    def __init__(self, *, keeps: bool = True, stt: Stt | None = None) -> None:
        self.commits = Commitments()
        self.keeps = keeps
        self.stt = stt or Stt()
        self.reopened: Reopened | None = None

    def say(self, source: str, target: str, **options: Any) -> Caption:
        transcript = heard(source, **options)
        self.prefix = self.commits.prefix(transcript.utterance, self.stt, transcript.lang)
        self.commits.go_on(transcript, self.reopened)
        standing = self.commits.heard(transcript, keeps=self.keeps)
        rest = replace(transcript, text=transcript.text[self.commits.said :].lstrip())
        made = translated(rest, target, standing)
        return self.commits.shown(self.commits.behind_lead(made, transcript))


def solid(caption: Caption) -> str:
    return caption.text[: caption.stable]


def test_the_next_partial_is_made_to_begin_with_what_stands() -> None:
    speech = Speech()
    first = speech.say("God is good to all", "Dios es bueno con todos")
    assert speech.prefix == ()
    assert solid(first) == "Dios es bueno con"
    second = speech.say("God is good to all of us today", "Dios era malo y todos nosotros hoy")
    assert speech.prefix == tuple(t.id for t in heard("God is good to").recognition.tokens)
    assert second.text.startswith("Dios es bueno con")
    assert (solid(second), second.revised) == ("Dios es bueno con todos nosotros", 0)


def test_a_sentence_that_begins_with_for_waits_for_its_fourth_word() -> None:
    speech = Speech()
    first = speech.say("Amen. For God so", "Amén. Por Dios así")
    assert solid(first) == "Amén."
    second = speech.say("Amen. For God so loved the", "Amén. Porque Dios tanto amó al")
    assert solid(second).startswith("Amén. Porque Dios")


@pytest.mark.parametrize(
    ("reopened", "said", "made", "shown"),
    [
        # A number that has grown is translated anew.
        (("He is twenty.", "Tiene veinte."), "He is twenty-five.", *["Tiene veinticinco."] * 2),
        # A question behind half a sentence has no capital.
        (
            ("They asked", "Preguntaron"),
            *("They asked what shall we do?", "¿Qué haremos?", "Preguntaron ¿qué haremos?"),
        ),
    ],
)
def test_a_final_goes_on_with_what_was_reopened(
    reopened: tuple[str, str], said: str, made: str, shown: str
) -> None:
    speech = Speech()
    speech.reopened = Reopened(1, *reopened)
    assert speech.say(said, made, final=True).text == shown


@pytest.mark.parametrize(
    ("lang", "made", "shown"),
    [
        ("en", "I'm sure.", "They said I'm sure."),
        ("en", "It is good.", "They said it is good."),
        ("de", "Menschen irren.", "They said Menschen irren."),
        ("de", "Wir irren.", "They said wir irren."),
        ("tr", "İnsanlar yanılır.", "They said insanlar yanılır."),
        ("tr", "Işık geldi.", "They said ışık geldi."),
    ],
)
def test_what_always_has_a_capital_keeps_it_behind_half_a_sentence(
    lang: str, made: str, shown: str
) -> None:
    speech = Speech()
    said = heard("Dijeron que erramos.", final=True)
    speech.commits.prefix(said.utterance, speech.stt, said.lang)
    speech.commits.go_on(said, Reopened(1, "Dijeron", "They said"))
    rest = Caption(replace(said, text="que erramos."), lang, made, "gemma", final=True)
    assert speech.commits.behind_lead(rest, said).text == shown


@pytest.mark.parametrize(
    ("reopened", "made", "solid_text", "shown"),
    [
        (None, "神爱世人。 他来了。 阿们", "神爱世人。他来了。", "神爱世人。他来了。阿们"),
        ("他们说。", "神爱。 他来。 阿们", "他们说神爱。他来。", "他们说神爱。他来。阿们"),
        ("他们说。", "阿们", "他们说", "他们说阿们"),
    ],
)
def test_no_space_stands_between_chinese_parts_nor_counts(
    reopened: str | None, made: str, solid_text: str, shown: str
) -> None:
    *whole, last = made.split()
    parts = [TargetPart((MARK + each,), (len(each),), (), 0, is_whole=True) for each in whole]
    parts.append(TargetPart((MARK + last,), (len(last),), (), 0, is_whole=False))
    commits, said = Commitments(), heard("They said that God loves the world")
    commits.prefix(said.utterance, Stt(), said.lang)
    commits.go_on(said, Reopened(1, "They said", reopened) if reopened else None)
    translation = Translation(made, "marian", parts=tuple(parts))
    rest = Caption(said, "zh", made, "marian", final=False, translation=translation)
    caption = commits.shown(commits.behind_lead(rest, said))
    # The third case: only the lead stands, which is not followed by a committed part.
    assert (caption.text, solid(caption)) == (shown, solid_text)


def test_another_utterance_begins_anew() -> None:
    speech = Speech()
    speech.say("God is good to all", "Dios es bueno con todos")
    speech.reopened = Reopened(1, "He", "El Señor")
    other = speech.say("He loves us", "Nos ama mucho", id=2)
    assert speech.prefix == ()
    assert other.text == "Nos ama mucho"


def test_a_final_keeps_what_stands_and_so_does_what_goes_on_after_it() -> None:
    speech = Speech()
    first = speech.say("God is good to all", "Dios es bueno con todos")
    final = speech.say("God is good, to all.", "Dios era malo para todos.", final=True)
    assert final.text == "Dios es bueno con todos."
    assert (solid(final), final.revised) == ("Dios es bueno con", 0)
    again = speech.say("God is good to all of us now", "Ella era mala y todos nosotros ahora")
    assert speech.prefix == tuple(t.id for t in heard("God is good to").recognition.tokens)
    assert solid(again).startswith(solid(first))


def test_at_its_best_a_final_is_translated_anew_and_what_it_takes_back_is_counted() -> None:
    speech = Speech(keeps=False)
    speech.say("God is good to all", "Dios es bueno con todos")
    final = speech.say("God is good to all.", "Dios era bueno con todos.", final=True)
    assert final.text == "Dios era bueno con todos."
    assert (solid(final), final.revised) == ("Dios", 1)


def test_a_final_that_hears_other_words_keeps_the_translation_of_those_before() -> None:
    speech = Speech()
    speech.say("God is good to", "Dios es bueno con")
    speech.say("God is good to all of you", "Dios es bueno con todos de ustedes")
    final = speech.say("God is good too and", "Dios es bueno y además", final=True)
    assert final.text.startswith("Dios es bueno")
    assert final.revised > 0, "more than that was committed"


def test_what_a_final_said_stands_when_speech_returns_to_it() -> None:
    speech = Speech()
    speech.say("God is good to all", "Dios es bueno con todos")
    speech.say("God is good to all.", "Dios es bueno con todos.", final=True)
    speech.reopened = Reopened(1, "God is good to all.", "El Señor es amable con todos.")
    again = speech.say("God is good to all of us today and", "De nosotros hoy y")
    assert again.text == "El Señor es amable con todos de nosotros hoy y"
    assert solid(again) == "El Señor es amable con todos de nosotros hoy"
    more = speech.say("God is good to all of us today and always here", "X y siempre aquí")
    assert more.text.startswith(solid(again))
    final = speech.say("God is good to all. Of us today.", "De nosotros hoy.", final=True)
    assert final.text == "El Señor es amable con todos. De nosotros hoy"
    assert final.revised == 0


def test_nothing_new_behind_a_final_leaves_it_as_it_was() -> None:
    speech = Speech()
    speech.say("Ask not.", "No preguntes.", final=True)
    speech.reopened = Reopened(1, "Ask not.", "No preguntes.")
    again = speech.say("Ask not", "")
    assert (again.text, solid(again)) == ("No preguntes.", "No preguntes.")
    last = speech.say("Ask not.", "", final=True)
    assert (last.text, solid(last)) == ("No preguntes.", "No preguntes.")


def test_spoken_words_that_stand_in_behind_a_final_are_solid_as_far_as_they_are_committed() -> None:
    speech = Speech()
    speech.say("Ask not.", "No preguntes.", final=True)
    speech.reopened = Reopened(1, "Ask not.", "No preguntes.")
    transcript = heard("Ask not what your country can")
    speech.commits.prefix(transcript.utterance, speech.stt, "en")
    speech.commits.go_on(transcript, speech.reopened)
    speech.commits.heard(transcript, keeps=True)
    caption = Caption(transcript, "en", transcript.text, "source", final=False)
    assert solid(speech.commits.shown(caption)) == "Ask not what your country"


def test_a_final_whose_words_are_heard_otherwise_now_is_made_anew_and_does_not_come_back() -> None:
    speech = Speech()
    speech.say("Esk not.", "Esk no.", final=True)
    speech.reopened = Reopened(1, "Esk not.", "Esk no.")
    again = speech.say("Ask not what your", "No preguntes lo que")
    assert again.text == "No preguntes lo que"
    assert again.revised > 0
    assert speech.say("Esk not what your country", "No x y").text.startswith("No preguntes")


def test_a_reload_that_ends_the_calm_cuts_no_word_of_what_goes_on() -> None:
    speech = Speech(keeps=False)
    speech.reopened = Reopened(1, "Ask not.", "No preguntes.")
    assert speech.say("Ask not what your", "lo que tu").text == "No preguntes lo que tu"
    speech.reopened = None  # as with `stability = "best"`
    assert speech.say("I ask not.", "Yo no pregunto.", final=True).text == "Yo no pregunto."


def test_one_whose_final_took_back_what_stood_begins_anew() -> None:
    speech = Speech()
    speech.say("Esk not what your", "Esk no lo que tu")
    taken_back = speech.say("Ask not.", "¡No preguntes!", final=True)
    assert taken_back.revised > 0
    again = speech.say("Ask not what your country", "No preguntes lo que tu país")
    assert speech.prefix == ()
    assert again.text == "No preguntes lo que tu país"


def test_a_text_that_could_not_be_used_takes_its_beginning_with_it() -> None:
    speech = Speech()
    first = speech.say("God is good to all", "Dios es bueno con todos")
    speech.commits.heard_nothing_of_use(utterance(3.0))
    assert speech.commits.prefix(utterance(3.5), speech.stt, "en") == ()
    second = speech.say("God is great to all", "Dios es grande con todos")
    assert second.text.startswith(solid(first)), "what people read stands all the same"


def test_what_the_dictionary_changes_at_the_edge_does_not_stand() -> None:
    speech = Speech()
    rule = Correction("psalm", "psalm twenty three", "Psalm 23", 5)
    transcript = heard("read psalm twenty three", corrections=[rule])
    speech.commits.prefix(transcript.utterance, speech.stt, "en")
    # The last word is not committed, so nothing that the rule has written is committed.
    assert speech.commits.heard(transcript, keeps=True).source == len("read")


def test_the_policy_of_the_settings_decides() -> None:
    speech = Speech(stt=Stt(commit="agreement"))
    assert solid(speech.say("God is good to all", "Dios es bueno con todos")) == ""
    assert solid(speech.say("God is good to all", "Dios es bueno con todos")) == "Dios es bueno con"


@pytest.mark.parametrize(
    ("length", "expected"),
    [(0, 0), (4, 4), (5, 5), (10, 5), (22, 5), (23, 13), (28, 18)],
)
def test_characters_of_the_raw_text_in_the_corrected_one(length: int, expected: int) -> None:
    # "read psalm twenty three now" -> "read Psalm 23 now"
    rule = Correction("psalm", "psalm twenty three", "Psalm 23", 5)
    assert corrected(length, [rule]) == expected


WORDS = st.lists(st.sampled_from(["god", "is", "good", "to", "us", "all"]), min_size=1, max_size=8)


@given(st.lists(WORDS, min_size=1, max_size=6))
def test_words_that_stand_stay_until_the_final(partials: list[list[str]]) -> None:
    speech = Speech()
    before = ""
    for words in partials:
        caption = speech.say(" ".join(words), " ".join(word.upper() for word in words))
        assert solid(caption).startswith(before)
        assert caption.revised == 0
        before = solid(caption)
