"""Write a session as OmniSTEval reads it, and score it: LongYAAL, StreamLAAL's kin, BLEU, chrF.

    python -m scripts.bench.streaming SESSION_FOLDER
    python -m scripts.bench.streaming SESSION_FOLDER --out DIR        keep the files

A word counts as emitted when its final caption was shown; `delays` leave the computing out: the end
of speech and the wait for the pause; `elapsed` is the time that people waited. The journal has no
partials: `scripts.bench.latency` listens to them and scores them as well, a word counting from the
moment since which it and all before it stand. Only a session in real time makes sense.

OmniSTEval: Polák et al. 2025, "Better Late Than Never: Evaluation of Latency Metrics for
Simultaneous Speech-to-Text Translation", arXiv:2509.17349.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from itertools import accumulate
from pathlib import Path
from typing import Any

import orjson

from pipeline.evaluation.reference import Recording, read_recording
from scripts.bench.sightings import History, full, standing
from scripts.support.paths import ROOT

RECORDING = "sermon.wav"
_PROGRAM = Path(sys.executable).with_name("omnisteval")


def main(argv: Sequence[str] | None = None) -> int:
    """Write the files, run OmniSTEval over them; return its exit code."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("session", type=Path, help="a folder with diagnostics.jsonl")
    parser.add_argument("--reference", type=Path, default=ROOT / "demo" / "sermon.json")
    parser.add_argument("--source", default="en", help="spoken language (default en)")
    parser.add_argument("--target", default="es", help="caption language (default es)")
    parser.add_argument("--out", type=Path, help="where to keep the files (default: nowhere)")
    arguments = parser.parse_args(argv)
    recording = read_recording(arguments.reference, arguments.source, arguments.target)
    lines = (arguments.session / "diagnostics.jsonl").read_bytes().split(b"\n")[:-1]
    with tempfile.TemporaryDirectory() as temporary:
        folder = arguments.out or Path(temporary)
        write(folder, recording, emissions([orjson.loads(line) for line in lines]))
        return subprocess.run(command(folder), check=False).returncode


def write(folder: Path, recording: Recording, emitted: dict[str, Any]) -> None:
    """Write hypothesis.jsonl, segments.json and references.txt into `folder`.

    `emitted` is what `emissions` or `emissions_with_partials` returns.
    """
    folder.mkdir(parents=True, exist_ok=True)
    sentences = recording.sentences(recording.duration_s)
    segments = [
        {"wav": RECORDING, "offset": s.start_s, "duration": round(s.end_s - s.start_s, 4)}
        for s in sentences
    ]
    (folder / "segments.json").write_bytes(orjson.dumps(segments))
    (folder / "references.txt").write_text("".join(f"{s.target}\n" for s in sentences))
    hypothesis = emitted | {
        "source": RECORDING,
        "source_length": round(recording.duration_s * 1000),
    }
    (folder / "hypothesis.jsonl").write_bytes(
        orjson.dumps(hypothesis, option=orjson.OPT_APPEND_NEWLINE)
    )


def emissions(records: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return all final words in order, and for each when it came, milliseconds of audio time."""
    words: list[str] = []
    delays: list[float] = []
    elapsed: list[float] = []
    finals = [r for r in records if r["type"] == "utterance" and r["final"] is not None]
    for record in sorted(finals, key=lambda r: r["id"]):
        own = record["final"]["text"].split()
        end_ms = record["end_s"] * 1000
        words += own
        delays += [round(end_ms + record["vad_wait_ms"], 1)] * len(own)
        elapsed += [round(end_ms + record["last_syllable_to_final_ms"], 1)] * len(own)
    return {"prediction": " ".join(words), "delays": delays, "elapsed": elapsed}


def emissions_with_partials(captions: Sequence[History]) -> dict[str, Any]:
    """Return the words that were left, and for each since when it and all before it stood.

    `delays` are how much of the recording the version was made of that first had it.
    """
    left = [word for caption in captions for word in standing(caption, full)]
    delays = accumulate((word.heard_s for word in left), max)
    elapsed = accumulate((word.at_s for word in left), max)
    return {
        "prediction": " ".join(word.text for word in left),
        "delays": [round(each_s * 1000, 1) for each_s in delays],
        "elapsed": [round(each_s * 1000, 1) for each_s in elapsed],
    }


def emissions_with_finals(captions: Sequence[History]) -> dict[str, Any]:
    """Return the words that were left, and for each when the last version of its caption came."""
    said = [(word, found.sightings[-1]) for found in captions for word in full(found.last).split()]
    elapsed = accumulate((last.at_s for _, last in said), max)
    return {
        "prediction": " ".join(word for word, _ in said),
        "delays": [round(last.message.end_s * 1000, 1) for _, last in said],
        "elapsed": [round(each_s * 1000, 1) for each_s in elapsed],
    }


def long_yaal_s(recording: Recording, emitted: dict[str, Any]) -> float | None:
    """Return LongYAAL, computation aware, seconds; None where OmniSTEval is not installed."""
    if not _PROGRAM.exists() or not emitted["prediction"]:
        return None
    with tempfile.TemporaryDirectory() as folder:
        write(Path(folder), recording, emitted)
        told = subprocess.run(
            [*command(Path(folder)), "--no_quality"], capture_output=True, text=True, check=True
        ).stdout
    rows = (line.split() for line in told.splitlines())
    scores = {" ".join(row[:-1]): row[-1] for row in rows if row}
    return float(scores["LongYAAL (CA)"]) / 1000


def command(folder: Path) -> list[str]:
    """Return the call of OmniSTEval for the files in `folder`."""
    return [
        *(str(_PROGRAM), "longform", "--word_level"),
        *("--speech_segmentation", str(folder / "segments.json")),
        *("--ref_sentences_file", str(folder / "references.txt")),
        *("--hypothesis_file", str(folder / "hypothesis.jsonl")),
    ]


if __name__ == "__main__":
    sys.exit(main())
