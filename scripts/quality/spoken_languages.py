"""Measures a service in two languages: English and Spanish in turns, heard by the real program.

A turn has one or two sentences, a Spanish reading four; a hymn is in the middle.

    python -m scripts.quality.spoken_languages --recognizer whisper-base

It needs kokoro-82m-int8 (`stark-translate models pull kokoro-82m-int8`) and espeak-ng for the
Spanish voice; the English ones are cut from `demo/`. Prints the share of utterances that were
heard in the language they were spoken in, and the captions that are in a wrong one.
"""

from __future__ import annotations

import json
import sys
import tempfile
import tomllib
from dataclasses import dataclass
from itertools import cycle, islice, pairwise
from pathlib import Path

import numpy as np
import soundfile
import soxr

from pipeline.config.schema import Settings
from pipeline.core.languages import LANGUAGES
from pipeline.engines.speech.espeak import RATE_HZ
from pipeline.engines.speech.kokoro import Kokoro
from pipeline.models.library import ModelLibrary
from pipeline.protocol.caption import CaptionMessage
from pipeline.session.reader import read_journal
from pipeline.text.words import words
from scripts.support.command import parser_of
from scripts.support.paths import ROOT
from scripts.support.program import call

LANGS = ("en", "es")
_HZ = 16_000
_SILENCE_DB = -45.0
_TURNS = {"en": (1, 2), "es": (*(2,) * 12, 1, 4, 2, 2, 1, 2, 2, 1, 2, 2)}
"""Sentences of a turn, again and again."""
_HYMN = 20
"""Before this turn it is sung."""


@dataclass(frozen=True, slots=True)
class Said:
    """A sentence of the recording."""

    lang: str
    start_s: float
    end_s: float


@dataclass(frozen=True, slots=True)
class Figures:
    """What came of a recording."""

    utterances: int
    right: int
    changes: int
    wrong: tuple[str, ...]
    """Captions in a wrong language, with the language that they are for."""
    missed: tuple[str, ...]
    """Utterances heard in a wrong language."""
    unheard: int
    """Sentences without any utterance."""
    sung: int
    """Captions of the hymn."""


def english() -> list[np.ndarray]:
    """Return sentences of the demo's natural voices."""
    cut = []
    for name in ("service", "pauses"):
        told = json.loads((ROOT / "demo" / f"{name}.json").read_text(encoding="utf-8"))
        sound, rate = soundfile.read(ROOT / "demo" / f"{name}.flac", dtype="float32")
        spoken = {each["name"] for each in told["sections"] if each["kind"] == "speech"}
        for each in told["sentences"]:
            if each["section"] in spoken:
                start, end = (round(each[key] * rate) for key in ("start_s", "end_s"))
                cut.append(soxr.resample(sound[start:end], rate, _HZ))
    return cut


def hymn() -> np.ndarray:
    """Return what the demo's service sings."""
    told = json.loads((ROOT / "demo" / "service.json").read_text(encoding="utf-8"))
    sound, rate = soundfile.read(ROOT / "demo" / "service.flac", dtype="float32")
    (sung,) = (each for each in told["sections"] if each["kind"] == "music")
    start, end = (round(sung[key] * rate) for key in ("start_s", "end_s"))
    made: np.ndarray = soxr.resample(sound[start:end], rate, _HZ)
    return made


def spanish(texts: list[str], model: Path) -> list[np.ndarray]:
    """Return sentences as Kokoro speaks them, a little quicker and slower in turns."""
    voice = Kokoro(model, section="speech", languages=("es",), threads=2, deadline_s=600.0)
    voice.load()
    rates = (1.0, 1.1, 0.95)
    made = [voice.speak(text, "es", rates[i % 3]) for i, text in enumerate(texts)]
    return [_trimmed(soxr.resample(each, RATE_HZ, _HZ)) for each in made]


def _trimmed(pcm: np.ndarray) -> np.ndarray:
    loud = np.flatnonzero(np.abs(pcm) > 10 ** (_SILENCE_DB / 20))
    return pcm[loud[0] : loud[-1] + 1]


def mixed(
    one: list[np.ndarray], other: list[np.ndarray], sung: np.ndarray, seed: int = 1
) -> tuple[np.ndarray, list[Said]]:
    """Return a recording in which sentences of two languages take turns, and what is in it.

    The hymn is in it as `Said` without a language.
    """
    chance = np.random.default_rng(seed)
    parts, said, at = [np.zeros(_HZ, np.float32)], [], _HZ
    left = {"en": iter(one), "es": iter(other)}
    sizes = {lang: cycle(_TURNS[lang]) for lang in LANGS}
    for number, lang in enumerate(cycle(LANGS), 1):
        turn = [(lang, pcm) for pcm in islice(left[lang], next(sizes[lang]))]
        if not turn:
            break
        for spoken, pcm in [("", sung), *turn] if number == _HYMN else turn:
            level = np.float32(10 ** (-23 / 20) / np.sqrt(np.mean(pcm**2)))
            gap = round(chance.uniform(0.6, 1.4) * _HZ)
            said.append(Said(spoken, at / _HZ, (at + len(pcm)) / _HZ))
            parts += [pcm * level, np.zeros(gap, np.float32)]
            at += len(pcm) + gap
    noise = chance.normal(0, 10 ** (-62 / 20), at + _HZ).astype(np.float32)
    whole = np.concatenate([*parts, np.zeros(_HZ, np.float32)])
    return whole + noise[: len(whole)], said


def spoken_in(message: CaptionMessage, said: list[Said]) -> str:
    """Return the language of most of a caption's time, "" if nothing was said then, or sung."""
    shares = dict.fromkeys((*LANGS, ""), 0.0)
    for each in said:
        shares[each.lang] += max(
            0.0, min(each.end_s, message.end_s) - max(each.start_s, message.start_s)
        )
    return max(shares, key=lambda each: shares[each]) if any(shares.values()) else ""


def looks(text: str) -> str:
    """Return the language whose everyday words are most of a text's, "" if none is ahead."""
    found = words(text)
    counts = {lang: sum(word in LANGUAGES[lang].common for word in found) for lang in LANGS}
    first, second = sorted(LANGS, key=lambda each: -counts[each])
    return first if counts[first] > counts[second] else ""


def figures(journals: dict[str, list[CaptionMessage]], said: list[Said]) -> Figures:
    """Compare what was shown with what was said."""
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
        changes=sum(a.lang != b.lang for a, b in pairwise(spoken)),
        wrong=tuple(wrong),
        missed=tuple(
            f"{m.start_s:.1f}-{m.end_s:.1f} {m.source.lang}: {m.source.text}" for m in missed
        ),
        unheard=covered.count(False),
        sung=len(sung),
    )


def main() -> int:
    """Make the recording, have it heard, print the figures."""
    parser = parser_of(__doc__)
    parser.add_argument(
        "--recognizer", default="whisper-base", help="stt.model: a name or a folder"
    )
    parser.add_argument("--voice", type=Path, help="the folder of kokoro-82m-int8")
    parser.add_argument("--keep", type=Path, help="a folder for the recording and the session")
    given = parser.parse_args()
    texts = tomllib.loads((ROOT / "scripts/quality/testimonies.toml").read_text(encoding="utf-8"))
    with tempfile.TemporaryDirectory() as temporary:
        folder = (given.keep or Path(temporary)).absolute()
        folder.mkdir(parents=True, exist_ok=True)
        model = given.voice or ModelLibrary.of(Settings()).folder("kokoro-82m-int8")
        pcm, said = mixed(english(), spanish(texts["es"], model), hymn())
        soundfile.write(folder / "mixed.flac", pcm, _HZ)
        (folder / "config.toml").write_text(
            '[translate]\nsource = ["en", "es"]\n', encoding="utf-8"
        )
        ran = call(
            "run",
            *(
                "--input",
                "mixed.flac",
                "--recognizer",
                given.recognizer,
                "--set",
                "audio.pace=fast",
            ),
            *("--set", "server.port=0"),
            cwd=folder,
            timeout_s=3600,
        )
        if ran.returncode:
            print(ran.stderr[-3000:], file=sys.stderr)
            return 1
        (session,) = sorted((folder / "sessions").glob("2*"))[-1:]
        told = figures({"es": read_journal(session), "en": read_journal(session, "en")}, said)
    share = told.right / max(1, told.utterances)
    sentences = sum(bool(each.lang) for each in said)
    length_s = len(pcm) / _HZ
    print(f"{sentences} sentences, {told.changes} changes of language, {length_s:.0f} s")
    print(f"{told.right} of {told.utterances} utterances in the right language ({share:.1%})")
    print(
        f"{len(told.wrong)} captions in a wrong language; "
        f"{told.unheard} sentences without caption; {told.sung} captions of the hymn"
    )
    for line in (*told.missed, *told.wrong):
        print(line)
    return 0


if __name__ == "__main__":
    sys.exit(main())
