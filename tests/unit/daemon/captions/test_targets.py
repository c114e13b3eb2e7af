"""A service in several languages: one recognition, and each language has its own displays."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson
import pytest

from pipeline.core.reports import CaptionReport, Rendition, Settled
from pipeline.core.types import Caption, Pcm, Recognition, Transcript
from pipeline.daemon.captions import targets
from pipeline.session.reader import extra_targets, read_records
from tests.support import daemon
from tests.support.commands import command
from tests.support.coordinator import CoordinatorFixture, transcript, utterance
from tests.support.daemon import SHORT as SCRIPT
from tests.support.daemon import SHORT_S as DURATION_S
from tests.support.daemon import ShortService as Service
from tests.support.daemon import crash, operate, until
from tests.support.fakes import FakeRecognizer, FakeSource, FakeTranslator, pcm_of
from tests.support.patience import reached

FRENCH = {"fr": (FakeTranslator("fr-quick"), FakeTranslator("fr-final"))}
AWAKE: dict[str, Any] = {"translate.targets": [{"lang": "fr", "rest": False}]}
FINALS = [(number, "fr-final") for number in range(1, len(SCRIPT) + 1)]


class WholeCounted(FakeRecognizer):
    """Counts the complete utterances that it is given."""

    whole = 0

    def recognize(self, pcm: Pcm, *, final: bool, prefix: Sequence[int] = ()) -> Recognition:
        self.whole += final
        return super().recognize(pcm, final=final, prefix=prefix)


def engines(journal: list[dict[str, Any]]) -> list[tuple[int, str]]:
    return sorted((line["id"], line["target"]["engine"]) for line in journal)


@pytest.mark.slow
def test_every_utterance_is_recognized_once_and_kept_in_each_language(tmp_path: Path) -> None:
    recognizer = WholeCounted(SCRIPT)
    alone = Service(tmp_path / "alone")
    both = Service(tmp_path / "both", recognizer=recognizer, extra_targets=FRENCH)
    assert (alone.run(), both.run()) == (0, 0)
    assert recognizer.whole == len(SCRIPT)
    folder = both.app.folder
    for name in ("transcript.es.srt", "transcript.en.vtt", "transcript.es.txt"):
        assert (folder / name).read_bytes() == (alone.app.folder / name).read_bytes()
    kept = [[(line["id"], line["target"]) for line in each.journal()] for each in (alone, both)]
    assert kept[0] == kept[1], "the first language is written as if it were alone"
    assert engines(both.journal("captions.fr.jsonl")) == FINALS
    spoken = {line["id"]: line["source"] for line in both.journal()}
    assert {m["id"]: m["source"] for m in both.journal("captions.fr.jsonl")} == spoken
    assert extra_targets(folder) == ["fr"]
    assert "sentence-fr-final number-fr-final" in (folder / "transcript.fr.txt").read_text()
    translations = [r for r in read_records(folder) if r.type == "translation"]
    assert [(r.id, r.target, r.final.engine) for r in translations] == [
        (number, "fr", engine) for number, engine in FINALS
    ]


@pytest.mark.slow
def test_displays_get_the_captions_of_their_language_and_no_other(tmp_path: Path) -> None:
    seen: dict[str, list[dict[str, Any]]] = {"es": [], "fr": [], "en": []}

    async def watch(service: Service, lang: str) -> None:
        async with service.connect(f"?lang={lang}") as socket:
            async for raw in socket:
                message = orjson.loads(raw)
                if message["type"] == "hello":
                    assert message["targets"] == ["es", "fr"]
                    assert (message["source"], message["lang"]) == ("en", lang)
                seen[lang] += [message] if message["type"] == "caption" else []

    async def beside(service: Service) -> None:
        tasks = [asyncio.create_task(watch(service, lang)) for lang in seen]
        await reached(lambda: len(service.app._context.hub._clients) == len(seen))
        asyncio.get_running_loop().call_later(60, lambda: [task.cancel() for task in tasks])

    source = FakeSource(pcm_of(SCRIPT, DURATION_S), speed=20)
    service = Service(tmp_path, source=source, fast=False, extra_targets=FRENCH)
    assert service.run(beside) == 0
    for lang, marks in {"es": ("marian", "gemma"), "fr": ("fr-quick", "fr-final")}.items():
        assert {m["target"]["engine"] for m in seen[lang]} <= {*marks, "source"}
        finals = [m["id"] for m in seen[lang] if m["final"]]
        assert finals == list(range(1, len(SCRIPT) + 1))
        assert [m["seq"] for m in seen[lang]] == sorted({m["seq"] for m in seen[lang]})
    assert [m["seq"] for m in seen["en"]] == [m["seq"] for m in seen["es"]]


def live(tmp_path: Path, extra: Any = None, **more: Any) -> Service:
    """Return a service with a clock; a language may rest or fall behind in it."""
    source = FakeSource(pcm_of(SCRIPT, DURATION_S), speed=20, hold=True)
    return Service(tmp_path, source=source, fast=False, extra_targets=extra or FRENCH, **more)


def finals(service: Service, lang: str = "es") -> int:
    board = service.app._targets.of(lang).board
    return sum(message.final for message in board.snapshot().messages)


@pytest.mark.slow
def test_a_language_that_nobody_watches_rests_and_is_filled_in_when_somebody_comes(
    tmp_path: Path,
) -> None:
    french = (FakeTranslator("fr-quick"), FakeTranslator("fr-final"))

    async def beside(service: Service) -> None:
        await reached(lambda: finals(service) == len(SCRIPT))
        assert service.app.health.record().languages[0].is_resting
        assert (french[0].calls, french[1].calls) == (0, 0)
        async with service.connect("?lang=fr") as socket:
            filled: set[int] = set()
            while len(filled) < len(SCRIPT):
                message = await until(socket, lambda m: m["type"] == "caption" and m["final"])
                filled.add(message["id"])
                assert message["target"]["engine"] == "fr-final"
            assert not service.app.health.record().languages[0].is_resting
        service.app.stop()

    assert live(tmp_path, {"fr": french}).run(beside) == 0
    assert french[1].calls == len(SCRIPT)


@pytest.mark.slow
def test_a_language_rests_again_after_the_last_display_has_gone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An operator's page that shows the language counts as a display."""
    monkeypatch.setattr(targets, "_REST_AFTER_S", 0.3)

    async def beside(service: Service) -> None:
        def is_resting() -> bool:
            return service.app.health.record().languages[0].is_resting

        async with service.connect("?kind=operator&lang=fr"):
            await reached(lambda: not is_resting())
        await reached(is_resting)
        service.app.stop()

    assert live(tmp_path).run(beside) == 0


@pytest.mark.slow
def test_a_language_that_fails_or_is_slow_delays_no_other(tmp_path: Path) -> None:
    further = {
        "fr": (FakeTranslator("fr-quick", fails=lambda _: True), None),
        "de": (None, FakeTranslator("de-final", delay_s=0.4)),
    }
    alone = Service(tmp_path / "alone", source=FakeSource(pcm_of(SCRIPT, DURATION_S), speed=20))
    assert alone.run() == 0
    flags = {"translate.targets": [{"lang": lang, "rest": False} for lang in further]}

    async def beside(service: Service) -> None:
        await reached(lambda: finals(service) == len(SCRIPT))
        assert finals(service, "de") < len(SCRIPT)
        service.app.stop()

    service = live(tmp_path / "many", further, flags=flags)
    assert service.run(beside) == 0
    assert service.finals() == alone.finals()
    # French captions are the spoken words, marked as such; all German ones are there.
    assert {m["target"]["lang"] for m in service.journal("captions.fr.jsonl")} == {"en"}
    assert len(service.journal("captions.de.jsonl")) == len(SCRIPT)
    faults = [fault for fault in service.records("event") if fault["event"] == "fault"]
    # The texts of these engines are in no language and may be detected as any.
    stages = {fault["stage"] for fault in faults if fault["code"] != "final-language"}
    assert stages == {"quick-fr"}


@pytest.mark.slow
def test_what_operators_do_reaches_every_language_and_its_files(tmp_path: Path) -> None:
    async def beside(service: Service) -> None:
        first, french = (target.board for target in service.app._context.targets)
        boards = {"gemma": first, "fr-final": french}
        await reached(lambda: finals(service) == finals(service, "fr") == len(SCRIPT))
        await operate(service, {"name": "correct", "id": 2, "text": "grace"})
        for engine, board in boards.items():
            await reached(lambda b=board, e=engine: b.message(2).target.text == f"grace-{e}")  # type: ignore[misc]
            assert board.message(2).source.text == "grace"
        await operate(service, {"name": "off-record"})
        assert [board.snapshot().messages for board in boards.values()] == [(), ()]
        service.app.stop()

    service = live(tmp_path, flags=AWAKE)
    assert service.run(beside) == 0
    for path in service.app.folder.iterdir():
        assert b"sentence" not in path.read_bytes(), path.name
        assert b"grace" not in path.read_bytes(), path.name


@pytest.mark.slow
def test_a_service_that_was_killed_goes_on_in_every_language(tmp_path: Path) -> None:
    flags = AWAKE | {"audio.input": ""}
    source = FakeSource(pcm_of(daemon.SCRIPT, daemon.DURATION_S), speed=20)
    broken = Service(
        tmp_path,
        source=source,
        fast=False,
        extra_targets=FRENCH,
        flags=flags,
        recognizer=FakeRecognizer(daemon.SCRIPT, fails=crash),
    )
    assert broken.run() == 1
    said = engines(broken.journal("captions.fr.jsonl"))
    assert said

    async def beside(service: Service) -> None:
        async with service.connect("?lang=fr") as socket:
            hello = await until(socket, lambda m: m["type"] == "hello")
            assert engines(hello["captions"]) == said
        service.app.stop()

    again = live(tmp_path, flags=flags)
    assert again.run(beside) == 0
    assert again.app.folder == broken.app.folder


def test_an_utterance_that_was_closed_just_before_a_language_woke_is_shown_in_it(
    tmp_path: Path,
) -> None:
    """Its text comes later, as an eager one: this language never got the utterance's end."""
    setting = CoordinatorFixture(tmp_path, {"translate.targets": [{"lang": "fr"}]}, start=False)
    _, french = setting.workers
    final = replace(utterance(1), closed_s=time.monotonic())
    setting.targets.take(final)
    french.rest(False)
    heard = replace(transcript("let us pray"), utterance=replace(final, final=False, cause="eager"))
    french.transcripts.put(heard)
    spanish = Caption(replace(heard, utterance=final), "es", "oremos", "es-final", final=True)
    setting.targets.take(Rendition("es", spanish))
    taken = french.transcripts.take()
    assert isinstance(taken, Transcript)
    made = Caption(taken, "fr", "prions", "fr-quick", final=True)
    setting.targets.take(Rendition("fr", made))
    assert [m.target.text for m in setting.boards["fr"].snapshot().messages] == ["prions"]


@pytest.fixture
def awake(tmp_path: Path) -> CoordinatorFixture:
    """Return a coordinator whose second language does not rest."""
    return CoordinatorFixture(tmp_path, AWAKE, start=False)


def report_all(setting: CoordinatorFixture, *reports: CaptionReport) -> None:
    for report in reports:
        setting.targets.take(report)


def test_what_has_settled_is_offered_to_every_language(awake: CoordinatorFixture) -> None:
    said = transcript()
    heard = replace(said, utterance=replace(said.utterance, can_resume=True))
    final = Rendition("es", Caption(heard, "es", "gracia", "gemma", True))
    report_all(awake, heard.utterance, final)
    assert not awake.targets._settled, "speech may still return to it"
    report_all(awake, Settled(1))
    assert [each.utterance.id for each in awake.targets._settled] == [1]


def said_at(number: int, start_s: float, lang: str) -> Caption:
    said, start = transcript(id=number), round(start_s * 16_000)
    heard = replace(
        said, utterance=replace(said.utterance, start_sample=start, end_sample=start + 9)
    )
    return Caption(heard, lang, f"{lang} {number}", "gemma", final=True)


def test_what_was_said_before_off_the_record_is_filled_in_after_it_and_nothing_else(
    awake: CoordinatorFixture,
) -> None:
    for number, start_s in ((1, 10.0), (2, 190.0)):
        spanish = said_at(number, start_s, "es")
        report_all(awake, spanish.transcript.utterance, Rendition("es", spanish))
    awake.hearing.heard_s = 200.0
    awake.commands.obey(command("off-record"))
    fills = awake.workers[1].transcripts
    fills.discard()  # as `WorkerGroup.apply` does
    awake.hearing.heard_s = 300.0
    awake.commands.obey(command("on-record"))
    assert [each.utterance.id for each in fills._fills] == [1]
    for number, start_s in ((1, 10.0), (2, 190.0), (3, 299.0), (4, 300.0)):
        report_all(awake, Rendition("fr", said_at(number, start_s, "fr")))
    french = awake.boards["fr"].snapshot().messages
    assert [m.target.text for m in french] == ["fr 1", "fr 4"]


def test_a_final_that_had_not_settled_before_off_the_record_is_filled_in_after_it(
    tmp_path: Path,
) -> None:
    flags = AWAKE | {"operator.off_record_s": 5.0}
    setting = CoordinatorFixture(tmp_path, flags, start=False)
    for number, start_s in ((1, 10.0), (2, 16.0)):
        said = said_at(number, start_s, "es")
        heard = replace(said.transcript.utterance, can_resume=True)
        spanish = replace(said, transcript=replace(said.transcript, utterance=heard))
        report_all(setting, heard, Rendition("es", spanish))
    setting.hearing.heard_s = 20.0
    setting.commands.obey(command("off-record"))
    fills = setting.workers[1].transcripts
    fills.discard()  # as `WorkerGroup.apply` does
    setting.targets.look(0.0)
    setting.hearing.heard_s = 30.0
    setting.commands.obey(command("on-record"))
    assert [each.utterance.id for each in fills._fills] == [1]


@pytest.mark.parametrize("name", ["hide", "correct"])
def test_what_was_prepared_in_a_language_follows_what_an_operator_has_done_since(
    tmp_path: Path, name: str
) -> None:
    setting = CoordinatorFixture(tmp_path, AWAKE, start=False)
    said = transcript("secret")
    eager = replace(said, utterance=replace(said.utterance, final=False, cause="eager"))
    for lang, final in (("es", False), ("es", True), ("fr", True)):  # no draft in French
        report_all(setting, Rendition(lang, Caption(eager, lang, "secreto", "gemma", final)))
    setting.commands.obey(command(name, id=1, text="sacred"))
    report_all(setting, replace(said.utterance, revision=2))
    french = [(m.source.text, m.final) for m in setting.boards["fr"].snapshot().messages]
    assert french == ([] if name == "hide" else [("sacred", False)])


def test_a_text_that_is_none_is_taken_back_everywhere(awake: CoordinatorFixture) -> None:
    said = transcript()
    partial = replace(said, utterance=replace(said.utterance, final=False, cause="partial"))
    for lang in ("es", "fr"):
        report_all(awake, Rendition(lang, Caption(partial, lang, "x", "marian", False)))
    assert all(board.snapshot().messages for board in awake.boards.values())
    report_all(awake, said.utterance, replace(said, filtered="repetition"))
    assert not any(board.snapshot().messages for board in awake.boards.values())
