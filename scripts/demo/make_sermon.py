"""Builds the demo sermon: demo/sermon.toml in, demo/sermon.flac and demo/sermon.json out.

`--source demo/pauses.toml` builds the sermon with a preacher's pauses. Needs the programs espeak-ng
and flite, and numpy, soundfile and soxr. The same text, voices and program versions give the same
samples. `--only SECTION` renders a single section.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

import numpy as np
import soundfile
import soxr

from pipeline.core.errors import UsageError
from pipeline.engines.speech import espeak
from scripts.demo import kokoro
from scripts.demo.music import Samples, Table, amplitude, music, rms
from scripts.support.command import parser_of, says_errors
from scripts.support.paths import ROOT

DEMO = ROOT / "demo"
STEPS = ROOT / "displays" / "js" / "demo" / "steps.js"
"""Texts that the demo's page shows while service.flac plays."""
# Speech begins and ends at the first and last sample above this level, relative to the
# sentence's peak.
SPEECH_THRESHOLD_DB = -40.0
FADE_S = 0.02  # kept on each side of the threshold and faded, so that no cut clicks
_PAUSE = re.compile(r"\s*<(\d+(?:\.\d+)?)>\s*")
_OPEN_END = re.compile(r"[^\W_]$")


def speak(text: str, voice: Table, rate_hz: int) -> tuple[Samples, int, int]:
    """Speak a sentence at its voice's level; return mono samples and the bounds of the speech."""
    samples, native_hz = _synthesized(text, voice)
    samples = soxr.resample(samples - np.mean(samples), native_hz, rate_hz)
    loud = np.flatnonzero(
        np.abs(samples) > amplitude(SPEECH_THRESHOLD_DB) * np.max(np.abs(samples))
    )
    fade = int(FADE_S * rate_hz)
    first = max(0, int(loud[0]) - fade)
    start, end = int(loud[0]) - first, int(loud[-1]) + 1 - first
    samples = samples[first : first + end + fade].copy()
    # Only sound outside the speech is faded: at the start the ramp may be shorter than `fade`.
    samples[:start] *= np.linspace(0, 1, start, endpoint=False)
    samples[end:] *= np.linspace(1, 0, len(samples) - end)
    return samples * amplitude(voice["speech_dbfs"]) / rms(samples[start:end]), start, end


def _synthesized(text: str, voice: Table) -> tuple[Samples, int]:
    if voice["engine"] == "kokoro":
        return kokoro.speak(text, voice["voice"], voice["speed"]), espeak.RATE_HZ
    with tempfile.TemporaryDirectory() as folder:
        wav = Path(folder) / "sentence.wav"
        subprocess.run(_speech_command(text, voice, wav), check=True, capture_output=True)
        return soundfile.read(wav, dtype="float64")  # type: ignore[no-any-return]


def _speech_command(text: str, voice: Table, wav: Path) -> list[str]:
    if voice["engine"] == "espeak-ng":
        options = ["-v", voice["voice"], "-s", str(voice["rate_wpm"]), "-p", str(voice["pitch"])]
        return ["espeak-ng", *options, "-w", str(wav), "--", text]
    if voice["engine"] == "flite":
        stretch = f"duration_stretch={voice['stretch']}"
        return ["flite", "-voice", voice["voice"], "--setf", stretch, "-o", str(wav), "-t", text]
    message = f"A voice has the engine {voice['engine']!r}."
    raise UsageError("unknown-engine", message, "Use 'kokoro', 'espeak-ng' or 'flite'.")


def speak_in_parts(
    text: str, voice: Table, rate_hz: int
) -> tuple[Samples, int, int, list[tuple[int, int]]]:
    """`speak` for a sentence with pauses such as `<0.5>`; also returns where the pauses are."""
    parts = _PAUSE.split(text)
    samples, start, end = speak(_with_open_end(parts[0], of=len(parts)), voice, rate_hz)
    pauses: list[tuple[int, int]] = []
    for seconds, part in zip(parts[1::2], parts[2::2], strict=True):
        last = len(pauses) == len(parts) // 2 - 1
        more, more_start, more_end = speak(
            _with_open_end(part, of=1 if last else 2), voice, rate_hz
        )
        begin = end + round(float(seconds) * rate_hz)
        # The fade-out after one part and the fade-in before the next count as silence.
        gap = max(0, begin - len(samples) - more_start)
        samples = np.concatenate([samples, np.zeros(gap), more])
        begin = len(samples) - len(more) + more_start
        pauses.append((end, begin))
        end = begin - more_start + more_end
    return samples, start, end, pauses


def _with_open_end(part: str, of: int) -> str:
    """Return a part as spoken: a comma before a pause keeps the voice from falling."""
    return f"{part}," if of > 1 and _OPEN_END.search(part) else part


def without_pauses(text: str) -> str:
    """Return a sentence in its written form."""
    return _PAUSE.sub(" ", text)


def room_noise(length: int, level_dbfs: float, seed: int) -> Samples:
    """Noise whose power falls with frequency, as in a quiet hall."""
    noise = np.random.default_rng(seed).standard_normal(length)
    spectrum = np.fft.rfft(noise)
    spectrum /= 1 + np.arange(len(spectrum)) / (0.02 * len(spectrum))
    noise = np.fft.irfft(spectrum, length)
    return noise * amplitude(level_dbfs) / rms(noise)


class Tape:
    """Sounds joined end to end; `sections` and `sentences` list the position of each."""

    def __init__(self, rate_hz: int) -> None:
        self.rate_hz = rate_hz
        self.length = 0
        self.pieces: list[Samples] = []
        self.sections: list[Table] = []
        self.sentences: list[Table] = []

    def append(self, samples: Samples) -> None:
        """Add sound at the end."""
        self.pieces.append(samples)
        self.length += len(samples)

    def silence(self, duration_s: float) -> None:
        """Add digital silence; the room noise comes over everything at the end."""
        self.append(np.zeros(round(duration_s * self.rate_hz)))

    def seconds(self, sample: int) -> float:
        """Return a position in samples as seconds, to a tenth of a millisecond."""
        return round(sample / self.rate_hz, 4)

    def section(self, section: Table, voices: Table) -> None:
        """Add a pause, a piece of music or the sentences of a section."""
        begin = self.length
        if section["kind"] == "pause":
            self.silence(section["duration_s"])
        elif section["kind"] == "music":
            self.append(music(section, self.rate_hz))
            self.silence(section["pause_s"])
        else:
            for sentence in section["sentence"]:
                self.sentence(sentence, section, voices[section["voice"]])
        bounds = {"start_s": self.seconds(begin), "end_s": self.seconds(self.length)}
        says = {key: section[key] for key in ("says",) if key in section}
        self.sections.append({"name": section["name"], "kind": section["kind"], **bounds, **says})

    def sentence(self, sentence: Table, section: Table, voice: Table) -> None:
        """Speak one sentence and the silence after it."""
        samples, start, end, pauses = speak_in_parts(sentence["en"], voice, self.rate_hz)
        entry = {
            "section": section["name"],
            "start_s": self.seconds(self.length + start),
            "end_s": self.seconds(self.length + end),
            "voice": section["voice"],
            "en": without_pauses(sentence["en"]),
            "es": sentence["es"],
            "terms": [{"en": en, "es": es} for en, es in sentence.get("terms", ())],
        }
        entry |= {key: sentence[key] for key in ("correct", "verse") if key in sentence}
        if pauses:
            entry["pauses"] = [
                [self.seconds(self.length + first), self.seconds(self.length + behind)]
                for first, behind in pauses
            ]
        self.sentences.append(entry)
        self.append(samples)
        self.silence((section | sentence)["pause_s"])
        print(f"\r{len(self.sentences)} sentences", end="", file=sys.stderr, flush=True)


def render(source: Table, only: str | None = None) -> tuple[Samples, Table]:
    """Render the sermon or one section: mono samples in [-1, 1], and the content of the JSON."""
    chosen = [s for s in source["section"] if only in (None, s["name"])]
    if not chosen:
        names = ", ".join(s["name"] for s in source["section"])
        raise UsageError("unknown-section", f"There is no section {only!r}.", f"There are {names}.")
    tape = Tape(source["sample_rate"])
    tape.silence(source["lead_in_s"])
    for section in chosen:
        tape.section(section, source["voices"])
    tape.silence(source["lead_out_s"])
    print(file=sys.stderr)
    whole = np.concatenate(tape.pieces)
    loudest = np.max(np.abs(whole))
    if loudest > 0:  # a section with only a pause has no peak to normalize
        whole *= amplitude(source["peak_dbfs"]) / loudest
    whole += room_noise(len(whole), source["noise_dbfs"], source["noise_seed"])
    return whole, {
        "title": source["title"],
        "licence": source["licence"],
        "sample_rate": tape.rate_hz,
        "duration_s": tape.seconds(len(whole)),
        "speech_threshold_db": SPEECH_THRESHOLD_DB,
        "sections": tape.sections,
        "sentences": tape.sentences,
    }


def steps(description: Table) -> str:
    """Return the module that the demo's page reads: the start of each section and its texts."""
    lines = []
    for each in description["sections"]:
        step = {"from": each["start_s"], "name": each["name"], "says": each["says"]}
        lines.append(f"  {json.dumps(step, ensure_ascii=False)},\n")
    made = "// Generated from demo/service.toml by scripts/demo/make_sermon.py."
    return f"{made}\nexport const STEPS = [\n{''.join(lines)}];\n"


def rendered(source: Path, only: str | None) -> tuple[Samples, Table]:
    """Render a file, or one of its sections. Raises UsageError."""
    try:
        return render(tomllib.loads(source.read_text("utf-8")), only)
    except KeyError as error:
        raise UsageError("missing-key", f"{source} lacks a key.", f"Add {error}.") from None
    except FileNotFoundError as error:
        fix = "Install this program or create this file."
        raise UsageError("file-not-found", f"{error.filename} is not there.", fix) from None
    except tomllib.TOMLDecodeError as error:
        raise UsageError("bad-source", f"{source}: {error}.") from None
    except subprocess.CalledProcessError as error:
        said = error.stderr.decode(errors="replace").strip()
        raise UsageError("speech-failed", f"{error.cmd}: {said}") from None


@says_errors
def main(arguments: list[str] | None = None) -> int:
    """Render, write both files, and return 0, or 2 with one line on stderr."""
    parser = parser_of(__doc__)
    parser.add_argument("--source", type=Path, default=DEMO / "sermon.toml", help="the text (TOML)")
    parser.add_argument(
        "--out", type=Path, default=DEMO, help="folder for the .flac and the .json of the same name"
    )
    parser.add_argument(
        "--only", metavar="SECTION", help="render one section, as NAME-SECTION.flac and .json"
    )
    options = parser.parse_args(arguments)
    samples, description = rendered(options.source, options.only)
    stem = options.source.stem + (f"-{options.only}" if options.only else "")
    options.out.mkdir(parents=True, exist_ok=True)
    audio = options.out / f"{stem}.flac"
    soundfile.write(audio, samples, description["sample_rate"], "PCM_16", compression_level=1.0)
    text = json.dumps(description, ensure_ascii=False, indent=1)
    (options.out / f"{stem}.json").write_text(text + "\n", "utf-8")
    if options.source.resolve() == DEMO / "service.toml" and not options.only:
        STEPS.write_text(steps(description), "utf-8")
    size_mb = audio.stat().st_size / 1e6
    print(f"{audio}: {description['duration_s']:.1f} s, {size_mb:.2f} MB", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
