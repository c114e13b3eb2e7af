"""LongYAAL, the lag of words, by OmniSTEval.

A word counts from the moment since which it and all before it stand. `delays` leave the computing
out; `elapsed` is the time that people waited. Only a session in real time makes sense.

OmniSTEval: Polák et al. 2025, "Better Late Than Never: Evaluation of Latency Metrics for
Simultaneous Speech-to-Text Translation", arXiv:2509.17349.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Sequence
from itertools import accumulate
from pathlib import Path
from typing import Any

import orjson

from pipeline.evaluation.reference import Recording
from scripts.bench.sightings import History, full, standing

RECORDING = "sermon.wav"
_PROGRAM = Path(sys.executable).with_name("omnisteval")


def write(folder: Path, recording: Recording, emitted: dict[str, Any]) -> None:
    """Write hypothesis.jsonl, segments.json and references.txt into `folder`.

    `emitted` is what `emissions_with_partials` or `emissions_with_finals` returns.
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
        command = [
            *(str(_PROGRAM), "longform", "--word_level", "--no_quality"),
            *("--speech_segmentation", f"{folder}/segments.json"),
            *("--ref_sentences_file", f"{folder}/references.txt"),
            *("--hypothesis_file", f"{folder}/hypothesis.jsonl"),
        ]
        told = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    rows = (line.split() for line in told.splitlines())
    scores = {" ".join(row[:-1]): row[-1] for row in rows if row}
    return float(scores["LongYAAL (CA)"]) / 1000
