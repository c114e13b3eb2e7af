"""Play a recording to the program's parts on the recording's clock, as if computing took no time.

    python -m scripts.bench.simulate                                  sermon and pauses, starter
    python -m scripts.bench.simulate --try vad.silence_ms=160,vad.eager_ms=64
    python -m scripts.bench.simulate --recording voices --recognizer whisper-base

Segmenter, queues, workers, engines and board are the real ones, without threads. So the captions
and their times depend on the policy alone, however busy the machine is. The first row has the
unchanged settings; each --try adds a row. CPU is the CPU time of the engines, with one
thread each, per second of the recording.
Erasure is given before the final, by the final, and of finals; commit times as mean, p90, p95.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import NamedTuple

import numpy as np

from pipeline.audio.file import read_audio
from pipeline.audio.segmenter import Segmenter
from pipeline.captions.board import CaptionBoard
from pipeline.captions.subtitles import cues
from pipeline.config.loader import load
from pipeline.config.schema import Settings
from pipeline.core import logs
from pipeline.core.reports import Report
from pipeline.core.standing import Reopened
from pipeline.core.types import (
    BLOCK_SAMPLES,
    SAMPLE_RATE,
    Caption,
    Pcm,
    Transcript,
    Utterance,
)
from pipeline.daemon.captions.tracks import Tracks
from pipeline.dictionary.store import Dictionary
from pipeline.engines.process import factory
from pipeline.engines.protocols import Recognizer, Scorer, Translator
from pipeline.evaluation.accuracy import chrf_and_bleu
from pipeline.models.automatic import own_pauses
from pipeline.protocol.caption import CaptionMessage
from pipeline.workers.degradation import Degradation
from pipeline.workers.queues import DRAFT_LIMIT, DraftQueue, UtteranceQueue
from pipeline.workers.quick import QuickPass
from pipeline.workers.transcriber import Transcribe
from pipeline.workers.translator import Translate
from scripts.bench import recordings, report_section
from scripts.bench.recordings import Material
from scripts.bench.report_section import mean_p90_p95, ranks, slashed
from scripts.bench.sightings import (
    History,
    Sighting,
    committed,
    diagonal_lags_s,
    erasure,
    full,
    histories,
)
from scripts.bench.word_lag import final_delays_s, recognized_words, word_lags_s
from scripts.support.command import add_settings, parser_of, progress, says_errors
from scripts.support.voice_score import score_text

PREFACE = """
Made by `python -m scripts.bench.simulate`: the program's own parts and models, as if computing took
no time. The first row has the settings in force. Last syllable: from the true end of the last word,
p50 / p95. Erasure: before the final, by it, of finals that went on. Times until a word stands for
good: mean / p90 / p95. CPU: of the engines.
"""

_SAME = {
    "stt.threads": 1,
    "translate.partial.threads": 1,
    "translate.final.threads": 1,
    "translate.final.stream": False,  # streaming depends on the wall clock
}


class Engines(NamedTuple):
    """The engines, loaded once for all rows."""

    recognizer: Recognizer
    partial: Translator | None
    final: Translator | None

    @classmethod
    def of(cls, settings: Settings) -> Engines:
        """Make and load the engines of the settings. Raises StarkError."""
        made = cls(
            factory.recognizer(settings, Dictionary(settings)),
            factory.partial_translator(settings),
            factory.final_translator(settings),
        )
        for each in made:
            if each is not None:
                each.load()
        return made


class Simulation:
    """Runs the program from segmenter to board on the recording's clock."""

    def __init__(self, settings: Settings, engines: Engines) -> None:
        vad = settings.vad.fitted(own_pauses(settings))
        settings = self._settings = settings.model_copy(update={"vad": vad})
        self._segmenter = Segmenter(settings.vad)
        self._utterances = UtteranceQueue()
        self._drafts = DraftQueue(DRAFT_LIMIT)
        self._tracks = Tracks()
        translate = settings.translate
        self._board = CaptionBoard("simulation", translate.source, translate.target, 100_000)
        self._at_s = 0.0
        self._resumable: int | None = None
        self.seen: list[Sighting] = []
        degradation, dictionary = Degradation(), Dictionary(settings)
        self._transcribe = Transcribe(
            quick=QuickPass(
                settings=settings,
                translator=engines.partial,
                drafts=self._drafts if engines.final else None,
                degradation=degradation,
                emit=self._report,
                stage="transcribe",
                shed=True,
                glossaries=dictionary.glossaries,
            ),
            recognizer=engines.recognizer,
            dictionary=dictionary,
            utterances=self._utterances,
            shed=True,
            expect_more=self._segmenter.expect_more,
            end_sentences=self._segmenter.end_sentences,
        )
        self._translate = engines.final and Translate(
            settings=settings,
            translator=engines.final,
            drafts=self._drafts,
            degradation=degradation,
            emit=self._report,
            is_stale=self._utterances.is_stale,
            scorer=engines.partial if isinstance(engines.partial, Scorer) else None,
        )

    def play(self, pcm: Pcm, probabilities: Sequence[float]) -> list[History]:
        """Return all captions; `probabilities` has the voice detector's value for each block."""
        for block, probability in zip(recordings.blocks(pcm), probabilities, strict=True):
            self._at_s = (block.start_sample + BLOCK_SAMPLES) / SAMPLE_RATE
            self._take(self._segmenter.push(block, probability))
        self._take(self._segmenter.flush())
        return histories(self.seen)

    def _take(self, utterances: Sequence[Utterance]) -> None:
        for each in utterances:
            utterance = replace(each, spoken_s=each.end_s, closed_s=self._at_s)
            if utterance.final or utterance.cause == "resumed":
                self._report(utterance)
            self._utterances.put(utterance)
            if utterance.cause == "resumed":
                self._resumable = None
            if (len(self._utterances) or utterance.cause == "partial") and isinstance(
                taken := self._utterances.take(), Utterance
            ):
                self._transcribe.take(taken)
            while self._translate and not self._drafts.empty():
                if draft := self._drafts.get():
                    self._translate.take(draft)
        before, self._resumable = self._resumable, self._segmenter.resumable
        if before is not None and before != self._resumable:
            self._tracks.settle(before)

    def _report(self, report: Report) -> None:
        """Handle a report as the daemon's coordinator does, but record nothing."""
        match report:
            case Utterance() if report.cause == "resumed":
                self._tracks.resume(report)
                if reopened := self._board.reopen(report.id):
                    self._show(reopened)
                    self._transcribe.quick.reopened = Reopened(
                        report.id, reopened.source.text, reopened.target.text
                    )
            case Utterance():
                prepared = self._tracks.close(report)
                if prepared is not None:
                    self._report(prepared)
            case Caption() if not self._tracks.is_stale(report.transcript.utterance):
                shown = self._tracks.final_caption(report) if report.final else report
                if shown is not None:
                    self._show(self._board.show(shown))
                    if shown.final:
                        self._tracks.finish(shown, self._at_s, mode="demo", utc="")
            case Transcript() if not self._tracks.is_stale(report.utterance):
                if filtered := self._tracks.final_transcript(report):
                    self._show(self._board.retract(filtered.utterance.id))
                    self._tracks.drop(filtered, mode="demo", utc="")
            case _:
                pass

    def _show(self, message: CaptionMessage | None) -> None:
        if message is not None:
            self.seen.append(Sighting(self._at_s, message))


class Column(NamedTuple):
    """A setting and its results."""

    name: str
    captions: Sequence[History]
    cpu: float
    """CPU seconds of this process per second of audio; the engines use nearly all of it."""


def simulate(material: Material, settings: Mapping[str, Settings]) -> list[Column]:
    """Return a column for each of the settings; all use the same models. Raises StarkError."""
    pcm = np.concatenate([read_audio(material.audio), np.zeros(2 * SAMPLE_RATE, np.float32)])
    probabilities = recordings.probabilities(pcm)
    engines = Engines.of(next(iter(settings.values())))
    made = []
    for name, chosen in progress(settings.items(), material.name):
        before_s = time.process_time()
        captions = Simulation(chosen, engines).play(pcm, probabilities)
        cpu = (time.process_time() - before_s) / material.duration_s
        made.append(Column(name, captions, cpu))
    return made


def rows(columns: Sequence[Column], material: Material) -> list[list[str]]:
    """Return the rows of the table, the heading first; each row is one setting."""
    cells_of = [{material.name: each.name, **_cells(each, material)} for each in columns]
    return [list(cells_of[0]), *(list(cells.values()) for cells in cells_of)]


def _cells(column: Column, material: Material) -> dict[str, str]:
    captions = column.captions
    score = score_text([material.text], " ".join(each.last.source.text for each in captions))
    lengths = [len(full(each.last).split()) for each in captions if full(each.last)]
    chrf, _ = chrf_and_bleu(material.sentences, cues((each.last for each in captions), "target"))
    delays_ms = [1000 * delay_s for delay_s in final_delays_s(captions, material.words)]
    heard = word_lags_s(recognized_words(captions), material.words)
    shown = [lag_s for each in captions for lag_s in diagonal_lags_s(each, committed)]
    erased = erasure(captions, committed)
    parts = (erased.partial, erased.final, erased.reopened)
    return {
        "last syllable to final, ms": slashed(ranks(delays_ms, 0.5, 0.95), 0),
        "erasure, projector": " ".join(f"{erased.share(each) or 0.0:.3f}" for each in parts),
        "stands, as heard, s": slashed(mean_p90_p95(heard)),
        "projector, s": slashed(mean_p90_p95(shown)),
        "WER, %": f"{100 * score.wer:.1f}",
        "stops": f"{score.stops}/{score.sentences}",
        "chrF": "-" if chrf is None else f"{chrf:.1f}",
        "captions": str(len(lengths)),
        "words, median": f"{median(lengths):.1f}" if lengths else "-",
        "CPU, s/s": f"{column.cpu:.2f}",
    }


@says_errors
def main(argv: Sequence[str] | None = None) -> int:
    """Simulate, print; return the exit code."""
    parser = parser_of(__doc__)
    parser.add_argument("--recording", nargs="+", default=["sermon", "pauses"],
                        help="sermon, pauses, voices or FILE.flac")  # fmt: skip
    parser.add_argument("--recognizer", default="starter", help="as stt.model (default starter)")
    add_settings(parser, "a setting of all rows")
    parser.add_argument("--try", dest="tries", action="append", default=[],
                        metavar="KEY=VALUE,...", help="settings of one more row")  # fmt: skip
    parser.add_argument("--markdown", type=Path, help="write the tables into this file's sections")
    arguments = parser.parse_args(argv)
    logs.configure("warning", "auto")
    common = [f"stt.model={arguments.recognizer}", *arguments.set]
    settings = {"these": _settings(common)}
    for each in arguments.tries:
        settings[each.replace(",", " ")] = _settings([*common, *each.split(",")])
    with tempfile.TemporaryDirectory() as folder:
        for name in arguments.recording:
            material = recordings.named(name, Path(folder))
            table = rows(simulate(material, settings), material)
            print(f"{report_section.markdown(table)}\n")
            write(arguments.markdown, f"{name}, {arguments.recognizer}", table)
    return 0


def write(file: Path | None, name: str, table: Sequence[Sequence[str]]) -> None:
    """Write a recording's table into its own section."""
    notes = [report_section.made("ctranslate2")]
    title = f"## Simulated: {name}"
    report_section.write(file, title, table, preface=PREFACE, notes=notes, explain_once=True)


def _settings(flags: Sequence[str]) -> Settings:
    return load(flags={**dict(each.partition("=")[::2] for each in flags), **_SAME}).settings


if __name__ == "__main__":
    sys.exit(main())
