"""Measures a service in two languages: the real program hears English and Spanish in turns.

A turn has one or two sentences, and a Spanish reading has four; a hymn is in the middle.

    python -m scripts.quality.spoken_languages --recognizer whisper-base

It needs kokoro-82m-int8 (`stark-translate models pull kokoro-82m-int8`) and espeak-ng for the
Spanish voice; the English voices are cut from `demo/`. Prints the share of utterances that were
recognized in their spoken language, and the captions in a wrong language.
"""

from __future__ import annotations

import json
import sys
import tempfile
import tomllib
from itertools import cycle, islice, pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import soundfile
import soxr

from pipeline.audio.file import read_audio
from pipeline.core import logs
from pipeline.core.languages import LANGUAGES
from pipeline.core.resources import bundled
from pipeline.core.types import SAMPLE_RATE, Pcm
from pipeline.engines.speech.espeak import RATE_HZ
from pipeline.protocol.caption import CaptionMessage
from pipeline.session.reader import read_journal
from pipeline.text.words import words
from scripts.support.command import parser_of, says_errors
from scripts.support.kokoro import kokoro
from scripts.support.paths import ROOT
from scripts.support.program import call

LANGS = ("en", "es")
_SILENCE_DB = -45.0
_TURNS = {"en": (1, 2), "es": (*(2,) * 12, 1, 4, 2, 2, 1, 2, 2, 1, 2, 2)}
"""The number of sentences in each turn, repeated in this order."""
_SETTINGS = """
[translate]
source = ["en", "es"]
[audio]
pace = "fast"
[server]
port = 0
"""
_HYMN = 20
"""The turn before which the hymn is sung."""


class Said(NamedTuple):
    """A sentence of the recording."""

    lang: str
    start_s: float
    end_s: float


class Figures(NamedTuple):
    """The results for a recording."""

    utterances: int
    right: int
    wrong: list[str]
    """Captions in a wrong language, with their intended language."""
    missed: list[str]
    """Utterances recognized in a wrong language."""
    unheard: int
    """Sentences without any utterance."""
    sung: int
    """Captions of the hymn."""


def english() -> list[Pcm]:
    """Return the sentences of the demo's natural voices."""
    cut = []
    for name in ("service", "pauses"):
        reference, sound = _demo(name)
        cut += [_part(sound, each) for each in reference["sentences"]]
    return cut


def hymn() -> Pcm:
    """Return the hymn of the demo's service."""
    reference, sound = _demo("service")
    (sung,) = (each for each in reference["sections"] if each["kind"] == "music")
    return _part(sound, sung)


def _demo(name: str) -> tuple[dict[str, Any], Pcm]:
    audio = bundled("demo", f"{name}.flac")
    return json.loads(audio.with_suffix(".json").read_text(encoding="utf-8")), read_audio(audio)


def _part(sound: Pcm, of: dict[str, Any]) -> Pcm:
    return sound[round(of["start_s"] * SAMPLE_RATE) : round(of["end_s"] * SAMPLE_RATE)]


def spanish(texts: list[str]) -> list[Pcm]:
    """Return sentences spoken by Kokoro at slightly different rates in turn."""
    voice = kokoro("es")
    rates = (1.0, 1.1, 0.95)
    made = [voice.speak(text, "es", rates[i % 3]) for i, text in enumerate(texts)]
    return [_trimmed(soxr.resample(each, RATE_HZ, SAMPLE_RATE)) for each in made]


def _trimmed(pcm: Pcm) -> Pcm:
    loud = np.flatnonzero(np.abs(pcm) > 10 ** (_SILENCE_DB / 20))
    return pcm[loud[0] : loud[-1] + 1]


def mixed(one: list[Pcm], other: list[Pcm], sung: Pcm, seed: int = 1) -> tuple[Pcm, list[Said]]:
    """Return a recording in which two languages take turns, and its contents.

    The hymn is listed as `Said` without a language.
    """
    chance = np.random.default_rng(seed)
    parts, said, at = [np.zeros(SAMPLE_RATE, np.float32)], [], SAMPLE_RATE
    left = {"en": iter(one), "es": iter(other)}
    sizes = {lang: cycle(_TURNS[lang]) for lang in LANGS}
    for number, lang in enumerate(cycle(LANGS), 1):
        turn = [(lang, pcm) for pcm in islice(left[lang], next(sizes[lang]))]
        if not turn:
            break
        for spoken, pcm in [("", sung), *turn] if number == _HYMN else turn:
            level = np.float32(10 ** (-23 / 20) / np.sqrt(np.mean(pcm**2)))
            gap = round(chance.uniform(0.6, 1.4) * SAMPLE_RATE)
            said.append(Said(spoken, at / SAMPLE_RATE, (at + len(pcm)) / SAMPLE_RATE))
            parts += [pcm * level, np.zeros(gap, np.float32)]
            at += len(pcm) + gap
    noise = chance.normal(0, 10 ** (-62 / 20), at + SAMPLE_RATE).astype(np.float32)
    whole = np.concatenate([*parts, np.zeros(SAMPLE_RATE, np.float32)])
    return whole + noise[: len(whole)], said


def spoken_in(message: CaptionMessage, said: list[Said]) -> str:
    """Return the language spoken for most of a caption's time, "" for silence or song."""
    shares = dict.fromkeys((*LANGS, ""), 0.0)
    for each in said:
        shares[each.lang] += max(
            0.0, min(each.end_s, message.end_s) - max(each.start_s, message.start_s)
        )
    return max(shares, key=lambda each: shares[each]) if any(shares.values()) else ""


def looks(text: str) -> str:
    """Return the language with the most everyday words in a text, "" for a tie."""
    found = words(text)
    counts = {lang: sum(word in LANGUAGES[lang].common for word in found) for lang in LANGS}
    first, second = sorted(LANGS, key=lambda each: -counts[each])
    return first if counts[first] > counts[second] else ""


def figures(journals: dict[str, list[CaptionMessage]], said: list[Said]) -> Figures:
    """Compare the captions with the spoken sentences."""
    newest = {lang: {m.id: m for m in messages if m.final} for lang, messages in journals.items()}
    heard = [m for m in newest["es"].values() if m.source.text and spoken_in(m, said)]
    missed = [m for m in heard if m.source.lang != spoken_in(m, said)]
    wrong = [
        f"{lang}: {m.target.text}"
        for lang, messages in newest.items()
        for m in messages.values()
        if m.target.text and (m.target.lang != lang or looks(m.target.text) not in ("", lang))
    ]
    sung = [m for m in newest["es"].values() if m.source.text and not spoken_in(m, said)]
    spoken = [each for each in said if each.lang]
    covered = [any(m.start_s < s.end_s and m.end_s > s.start_s for m in heard) for s in spoken]
    return Figures(
        utterances=len(heard),
        right=len(heard) - len(missed),
        wrong=wrong,
        missed=[f"{m.start_s:.1f}-{m.end_s:.1f} {m.source.lang}: {m.source.text}" for m in missed],
        unheard=covered.count(False),
        sung=len(sung),
    )


@says_errors
def main() -> int:
    """Make the recording, run the program on it, print the figures."""
    parser = parser_of(__doc__)
    parser.add_argument(
        "--recognizer", default="whisper-base", help="stt.model: a name or a folder"
    )
    recognizer = parser.parse_args().recognizer
    logs.configure("warning", "auto")
    texts = tomllib.loads((ROOT / "scripts/quality/testimonies.toml").read_text(encoding="utf-8"))
    pcm, said = mixed(english(), spanish(texts["es"]), hymn())
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        soundfile.write(folder / "mixed.flac", pcm, SAMPLE_RATE)
        (folder / "config.toml").write_text(_SETTINGS, encoding="utf-8")
        command = ("run", "--input", "mixed.flac", "--recognizer", recognizer)
        ran = call(*command, cwd=folder, timeout_s=3600)
        if ran.returncode:
            print(ran.stderr[-3000:], file=sys.stderr)
            return 1
        (session,) = (folder / "sessions").glob("2*")
        result = figures({"es": read_journal(session), "en": read_journal(session, "en")}, said)
    share = result.right / max(1, result.utterances)
    spoken = [each.lang for each in said if each.lang]
    changes = sum(a != b for a, b in pairwise(spoken))
    print(f"{len(spoken)} sentences, {changes} changes of language")
    print(f"{result.right} of {result.utterances} utterances in the right language ({share:.1%})")
    print(
        f"{len(result.wrong)} captions in a wrong language; "
        f"{result.unheard} sentences without caption; {result.sung} captions of the hymn"
    )
    print("\n".join([*result.missed, *result.wrong]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
