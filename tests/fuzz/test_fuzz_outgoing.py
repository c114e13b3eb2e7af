"""Nothing hidden or off the record gets out, in any order of speech and commands.

The daemon's real parts (coordinator, boards, commands, recorder, outlets) receive reports of
speech and operators' commands. To simulate a crash, the next daemon resumes a copy of the session
folder. Every text is a unique word, so that the test finds it anywhere.
"""

from __future__ import annotations

import os
import re
import shutil
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from itertools import chain, count
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace
from typing import Any
from urllib.parse import parse_qs, urlsplit

import numpy as np
import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from websockets.datastructures import Headers
from websockets.http11 import Request

from pipeline.captions.export import FORMATS, WHICH
from pipeline.core.errors import ProtocolError, SessionError
from pipeline.core.reports import CaptionReport, Rendition, Retranslated, Settled
from pipeline.core.types import (
    SAMPLE_RATE,
    Caption,
    Cause,
    Comparison,
    Recognition,
    Span,
    Transcript,
    Translation,
    Utterance,
)
from pipeline.outputs.outlet import Outlet
from pipeline.protocol.codec import parse
from pipeline.session.past_services import PastServices
from pipeline.session.reader import RECORDS, Session
from pipeline.session.training_pairs import file_pairs, operator_edits, pair_lines
from scripts.support.web_recorder import WebRecorder
from tests.support.daemon import Service
from tests.support.fakes import FakeTranslator
from tests.support.material import FUZZ

pytestmark = pytest.mark.slow

_WORD = re.compile(r"w[0-9]+x")
_OFF_RECORD_S = 12.0
_MARK = b'"type":"health"'
_LATE_S = 30.0
"""After this time a caption is in the subtitles of streams."""


def words(text: str | bytes) -> set[str]:
    """Return the generated words in a text."""
    return set(_WORD.findall(text if isinstance(text, str) else text.decode(errors="replace")))


@dataclass
class Said:
    """An utterance, as the speaker and the workers know it."""

    id: int
    start_s: float
    end_s: float
    revision: int = 1
    is_closed: bool = False
    has_final: bool = False
    """Whether this revision has a final in the first target language."""
    is_settled: bool = False
    made: set[str] = field(default_factory=set)
    """All words ever made for it."""


class Hall:
    """A service on a folder, with external programs that receive its captions."""

    def __init__(self, folder: Path, langs: tuple[str, ...], shown: tuple[str, str]) -> None:
        """`langs`: further targets. `shown`: the languages of YouTube and of vMix."""
        self.folder = folder
        self.langs = ("es", *langs)
        self.shown = shown
        self.words = (f"w{number}x" for number in count())
        self.now_s = 0.0
        self.runs = 0
        self.marks = 0
        self.stream, self.screen = WebRecorder(), WebRecorder()
        self.taken = 0
        """Number of checked requests to YouTube."""
        self.said: dict[int, Said] = {}
        self.on_way: list[tuple[Said, CaptionReport]] = []
        self.gone: set[str] = set()
        """Words that are off the record."""
        self.gone_ids: set[int] = set()
        self.hidden: set[tuple[str, int]] = set()
        self.finals: dict[tuple[str, int], str] = {}
        """The newest final of each caption by language."""
        self.store: dict[str, bytes] = {}
        """The broker's stream: the newest message of each subject."""
        self.clock = SimpleNamespace(
            time=lambda: 1_795_343_400.0 + self.now_s, monotonic=lambda: self.now_s
        )

    def begin(self) -> None:
        """Start the daemon on the folder that an earlier one left."""
        self.runs += 1
        flags = {
            "translate.targets": [{"lang": lang, "rest": False} for lang in self.langs[1:]],
            "church.glossary": False,
            "church.verses": "off",
            "operator.off_record_s": _OFF_RECORD_S,
            "outputs.hls": True,
            "outputs.youtube": self.stream.url,
            "outputs.youtube_lang": self.shown[0],
            "outputs.vmix": self.screen.url,
            "outputs.vmix_lang": self.shown[1],
            "publish.nats": "nats://127.0.0.1:1",
            "audio.input": "",
        }
        quick = FakeTranslator("quick")
        extra = dict.fromkeys(self.langs[1:], (quick, quick))
        self.app = Service(self.folder, extra_targets=extra, flags=flags, fast=False).app
        self.context = self.app._context
        self.boards = {target.lang: target.board for target in self.context.targets}
        # Counted before the recorder writes: the previous daemon's marks.
        self.marks = self.records.read_bytes().count(_MARK)
        self.context.recorder.start()
        if self.boards["es"].session == self.context.recorder.folder.name:
            # A new session: there was none to resume, and its ids start again.
            self.said.clear()
            self.hidden.clear()
            self.finals.clear()
        self.gone_ids.clear()
        self.outlets: list[tuple[Outlet, WebRecorder]] = []
        for feed in self.context.outside.outputs.values():
            feed.start(print)
            self.outlets += [(each, self.stream) for each in feed._streams]
            self.outlets += [(each, self.screen) for each in feed._screens]
        self.store.clear()  # a publisher does this first at the broker
        publisher = self.context.outside.publisher
        assert publisher
        for lang, messages in self.context.captions().items():
            for message in messages:
                publisher.on_caption(message, lang)
        self.context.facts.has_begun = True
        self.context.announcer.announce()
        self.hear(1.0)

    def end(self) -> None:
        """Kill the daemon, as far as a test can: data not yet sent or written is lost."""
        for server in (self.stream, self.screen):
            server.go_on()
        for outlet, _ in self.outlets:
            outlet.forget()
        for feed in self.context.outside.outputs.values():
            feed.close()
        self.context.recorder.close(10)

    @property
    def records(self) -> Path:
        """The file of the session's records."""
        return self.context.recorder.folder / RECORDS

    def hear(self, seconds: float) -> None:
        """Advance the audio by `seconds`."""
        self.now_s += seconds
        self.app._group.listen.heard_s = self.now_s

    # Speech

    def take(self, report: CaptionReport) -> None:
        self.app._targets.take(report)

    def add(self, said: Said) -> None:
        """Add a caption; after a crash it may reuse the id of one that is off the record."""
        self.said[said.id] = said
        self.gone_ids.discard(said.id)
        self.show_again(said.id)
        self.forget_finals(said.id)

    def forget_finals(self, key: int) -> None:
        for lang in ("en", *self.langs):
            self.finals.pop((lang, key), None)

    def word(self, said: Said | None = None) -> str:
        made = next(self.words)
        if said is not None:
            said.made.add(made)
            if said.id in self.gone_ids:
                self.gone.add(made)
        return made

    def utterance(self, said: Said, cause: Cause) -> Utterance:
        return Utterance(
            said.id,
            said.revision,
            cause == "silence",
            cause,
            round(said.start_s * SAMPLE_RATE),
            round(said.end_s * SAMPLE_RATE),
            np.zeros(16, np.float32),
            spoken_s=time.monotonic(),
            closed_s=time.monotonic(),
            can_resume=cause == "silence",
        )

    def made(self, said: Said, cause: Cause, *, final: bool) -> list[CaptionReport]:
        """Return the workers' reports on an utterance in all languages."""
        source, utterance = self.word(said), self.utterance(said, cause)
        transcript = Transcript(utterance, "en", source, self.word(said), Recognition(source))
        engine = "gemma" if final else "marian"
        return [
            Rendition(lang, Caption(transcript, lang, self.word(said), engine, final))
            for lang in self.langs
        ]

    def deliver(self, said: Said, report: CaptionReport) -> None:
        """Let a worker deliver its report."""
        of = None
        if isinstance(report, Rendition) and report.lang == "es":
            of = report.caption.transcript.utterance
        if isinstance(report, Transcript):
            of = report.utterance
        if of and of.revision == said.revision and said.is_closed:
            said.has_final = True
        self.take(report)

    # Operators

    def obey(self, name: str, **fields: object) -> bool:
        """Send a command as a page does; return whether it was accepted."""
        try:
            command = parse(orjson.dumps({"type": "command", "name": name, **fields}).decode())
            self.app._commands.obey(command)  # type: ignore[arg-type]
        except ProtocolError:
            return False
        return True

    def show_again(self, key: int, langs: tuple[str, ...] = ()) -> None:
        """Note that an operator wants a caption to be visible."""
        self.hidden -= {(lang, key) for lang in langs or self.langs}

    def leave_record(self) -> None:
        """Go off the record; the latest utterances and those without a final have to go."""
        from_s = self.now_s - _OFF_RECORD_S
        for said in self.said.values():
            if said.end_s > from_s or not said.has_final:
                self.gone |= said.made
                self.gone_ids.add(said.id)
                self.forget_finals(said.id)
        self.obey("off-record")

    # Checks

    def look(self) -> None:
        """After each step, check what boards show and what external programs received."""
        self.settle_down()
        shown = self.boards["es"]
        for lang, board in self.boards.items():
            for message in board.snapshot().messages:
                assert (lang, message.id) not in self.hidden, f"{message.id} is back in {lang}"
            for message in board._messages.values():
                if message.final:
                    self.finals[lang, message.id] = message.target.text
                    if lang == shown.target:
                        self.finals["en", message.id] = message.source.text
        for sent in self.stream.sent[self.taken :]:
            found = words(sent.body)
            assert found <= self.allowed(self.shown[0]), "YouTube got what is not shown"
        self.taken = len(self.stream.sent)
        self.publish()

    def settle_down(self) -> None:
        """Wait until outlets have sent everything or hang while sending."""
        limit_s = time.monotonic() + 10
        while any(outlet.waiting and not server.hanging for outlet, server in self.outlets):
            assert time.monotonic() < limit_s, "an outlet does not come to its end"
            time.sleep(0.0005)

    def publish(self) -> None:
        """Publish the backlog as a publisher does to a broker."""
        publisher = self.context.outside.publisher
        assert publisher
        while message := publisher._backlog.first():
            self.store[message.subject] = message.data
            publisher._backlog.done(message)

    def allowed(self, lang: str) -> set[str]:
        """Return the words that a reader of a language may see.

        An open caption, or one that left the board without a final, also allows its earlier final:
        nobody has taken that back.
        """
        board = self.boards.get(lang, self.boards["es"])
        found: set[str] = set()
        for key, message in board._messages.items():
            found |= words(message.source.text if lang == "en" else message.target.text)
            if not message.final:
                found |= words(self.finals.get((lang, key), ""))
        for (in_lang, key), text in self.finals.items():
            if in_lang == lang and key not in board._messages:
                found |= words(text)
        return found

    def inspect(self) -> None:
        """Search for forbidden words everywhere that somebody could find them."""
        self.look()
        query = parse_qs(urlsplit(self.screen.sent[-1].path).query)
        is_dark = self.context.announcer.state[0] == "blank"
        seen = set() if is_dark else self.allowed(self.shown[1])
        assert words("".join(query.get("Value", []))) <= seen, "vMix"
        self.look_at_files()
        self.look_at_streams()
        desk = self.context.hub.operators
        records: list[Any] = [*desk._utterances, *desk._compares]
        text = orjson.dumps([asdict(each) for each in records])
        assert not words(text) & self.gone, "records of operators' pages"
        for subject, data in self.store.items():
            assert not words(data) & self.gone, f"the broker has {subject}"
            *_, lang, _ = [*subject.split("."), ""]
            if lang in self.boards:
                seen = self.allowed(lang) | self.allowed("en")
                assert words(data) <= seen, f"the broker has {subject}"

    def look_at_streams(self) -> None:
        """Read the subtitles of all languages as players do."""
        subtitles = self.context.outside.subtitles
        assert subtitles
        self.hear(_LATE_S)

        def get(path: str) -> bytes:
            return bytes(subtitles.answer(Request(f"/live/{path}", Headers())).body)

        for lang in ("en", *self.langs):
            paths = re.findall(r"^[^#].*", get(f"{lang}.m3u8").decode(), re.MULTILINE)
            found = set().union(*(words(get(path)) for path in paths))
            assert found <= self.allowed(lang), f"subtitles of a stream in {lang}"

    def look_at_files(self) -> None:
        """Check the session on disk, and as readers of past services get it."""
        self.await_disk()
        for path in self.folder.glob("*/*"):
            assert not words(path.read_bytes()) & self.gone, f"off the record, in {path.name}"
        folder = self.context.recorder.folder
        for path in folder.iterdir():
            found = words(path.read_bytes())
            if path.name.startswith("transcript."):
                lang = path.name.split(".")[1]
                assert found <= self.allowed(lang), f"{path.name}"
        hidden = set().union(*(self.said[key].made for key in self.hidden_everywhere()))
        session = Session(folder)
        edits = operator_edits(session.messages)
        for name, filed in file_pairs(session.utterances, edits, folder.name).items():
            assert not words(pair_lines(filed)) & hidden, f"hidden, and in {name}"
        seen = self.allowed("es") | self.allowed("en")
        past = PastServices(self.folder)
        with suppress(SessionError):  # nothing of the session is left
            assert words(repr(past.read(folder.name))) <= seen, "a past service"
        for which in WHICH:
            for form in FORMATS:
                with suppress(SessionError):
                    found = words(past.download(folder.name, which, form).content)
                    assert found <= seen, f"a download: {which}.{form}"

    def hidden_everywhere(self) -> set[int]:
        keys = {key for _, key in self.hidden if key in self.said}
        return {key for key in keys if all((lang, key) in self.hidden for lang in self.langs)}

    def await_disk(self) -> None:
        """Wait until the recorder has written all its records."""
        self.marks += 1
        self.context.recorder.record(self.app.health.record())
        limit_s = time.monotonic() + 10
        while self.records.read_bytes().count(_MARK) < self.marks:
            assert time.monotonic() < limit_s
            time.sleep(0.0005)


# The steps: each takes the hall and a number that selects an item.


def speak(hall: Hall, number: int) -> None:
    if hall.context.facts.off_record or hall.context.facts.paused:
        hall.hear(2.0)
        return
    fall_silent(hall, number)  # each utterance ends before the next one starts
    start_s = hall.now_s
    hall.hear(2.0)
    said = Said(hall.app._group.take_id(), start_s, hall.now_s)
    hall.add(said)
    for report in hall.made(said, "partial", final=False):
        hall.deliver(said, report)


def _open(hall: Hall) -> Said | None:
    found = [each for each in hall.said.values() if not each.is_closed]
    return found[-1] if found and found[-1].id not in hall.gone_ids else None


def go_on(hall: Hall, _: int) -> None:
    if said := _open(hall):
        hall.hear(1.0)
        said.end_s, said.revision = hall.now_s, said.revision + 1
        for report in hall.made(said, "partial", final=False):
            hall.deliver(said, report)


def fall_silent(hall: Hall, number: int) -> None:
    """Close the open utterance; its reports arrive later or at once."""
    if said := _open(hall):
        said.revision += 1
        reports = hall.made(said, "silence", final=True)
        if number % 7 == 0:
            (first, *_) = reports
            assert isinstance(first, Rendition)
            fields = _fields(first.caption.transcript)
            reports = [Transcript(**{**fields, "filtered": "repetition"})]
        if number % 5 == 0:  # prepared while the pause was short
            for report in hall.made(said, "eager", final=True):
                hall.deliver(said, report)
            reports = []
            said.has_final = True
        hall.take(hall.utterance(said, "silence"))
        said.is_closed = True
        hall.on_way += [(said, report) for report in reports]
        while number % 2 and hall.on_way:
            translate(hall, 0)


def _fields(transcript: Transcript) -> dict[str, Any]:
    return {name: getattr(transcript, name) for name in transcript.__dataclass_fields__}


def translate(hall: Hall, number: int) -> None:
    """Let one of the workers report, not always the first to start."""
    if hall.on_way:
        hall.deliver(*hall.on_way.pop(number % len(hall.on_way)))


def resume(hall: Hall, _: int) -> None:
    found = list(hall.said.values())[-1:]
    for said in found:
        facts = hall.context.facts
        if said.is_closed and not said.is_settled and said.id not in hall.gone_ids:
            if facts.off_record or facts.paused:
                return
            hall.hear(1.0)
            said.revision, said.end_s = said.revision + 1, hall.now_s
            said.is_closed = said.has_final = False
            hall.take(hall.utterance(said, "resumed"))


def compare(hall: Hall, number: int) -> None:
    """Let the second final translator report its own version."""
    said = hall.said.get(_newest(hall, number))
    if said and said.has_final:
        made = Translation(hall.word(said), "marian")
        hall.take(Comparison(said.id, "es", "", "m", made, Span(0.0, 0.1)))


def settle(hall: Hall, _: int) -> None:
    for said in hall.said.values():
        if said.is_closed and not said.is_settled:
            said.is_settled = True
            hall.take(Settled(said.id))
            return


def _newest(hall: Hall, number: int) -> int:
    keys = sorted(hall.said)[-4:]
    return keys[number % len(keys)] if keys else 1


def hide(hall: Hall, number: int) -> None:
    key = _newest(hall, number)
    if hall.obey("hide", id=key):
        hall.hidden |= {(lang, key) for lang in hall.langs}


def show(hall: Hall, number: int) -> None:
    key = _newest(hall, number)
    if hall.obey("show", id=key):
        hall.show_again(key)


def edit(hall: Hall, number: int) -> None:
    key, lang = _newest(hall, number), hall.langs[number % len(hall.langs)]
    if hall.obey("edit", id=key, text=hall.word(hall.said.get(key)), lang=lang):
        hall.show_again(key, (lang,))


def correct(hall: Hall, number: int) -> None:
    key = _newest(hall, number)
    if hall.obey("correct", id=key, text=hall.word(hall.said.get(key))):
        hall.show_again(key)


def retranslate(hall: Hall, number: int) -> None:
    """Let a translator answer for an operator's text, whatever happened to the text since."""
    lang = hall.langs[number % len(hall.langs)]
    said = Said(0, 0.0, 0.0)
    reports = hall.made(said, "silence", final=number % 3 > 0)
    made = next(
        each.caption for each in reports if isinstance(each, Rendition) and each.lang == lang
    )
    hall.take(Retranslated(1 + number % 4, made, lang))


def undo(hall: Hall, _: int) -> None:
    says = hall.app._commands.done("undo").undo
    if hall.obey("undo") and (about := re.search(r"\d+$", says)):
        hall.show_again(int(about[0]))


def say(hall: Hall, number: int) -> None:
    langs = ("en", *hall.langs)
    said = Said(0, hall.now_s, hall.now_s + 2.0, is_closed=True, has_final=True, is_settled=True)
    if hall.obey("say", text=hall.word(said), lang=langs[number % len(langs)]):
        said.id = hall.app._group._ids.last
        hall.add(said)


def put_notice(hall: Hall, number: int) -> None:
    langs = ("en", *hall.langs)
    hall.obey("notice", text=f"n{number}", lang=langs[number % len(langs)])


def leave_record(hall: Hall, _: int) -> None:
    if not hall.context.facts.off_record:
        hall.leave_record()


def wait(hall: Hall, number: int) -> None:
    hall.hear(float(number % 9))


def command(name: str) -> Callable[[Hall, int], None]:
    def step(hall: Hall, _: int) -> None:
        hall.obey(name)

    step.__name__ = name
    return step


def hang(hall: Hall, _: int) -> None:
    """Make external programs stop answering, or answer again."""
    for server in (hall.stream, hall.screen):
        if server.hanging:
            server.go_on()
        else:
            server.hold()


def crash(hall: Hall, _: int) -> None:
    hall.await_disk()
    left = hall.folder.with_name(f"run-{hall.runs}")
    shutil.copytree(hall.folder, left)
    hall.end()
    hall.folder = left
    hall.on_way.clear()
    for said in hall.said.values():  # no speaker resumes an earlier utterance
        said.is_closed = said.is_settled = said.has_final = True
    hall.begin()
    for message in hall.boards["es"]._messages.values():
        # Speech after an operator's change of the caption is lost.
        if known := hall.said.get(message.id):
            known.end_s = min(known.end_s, message.end_s)


_SPEECH = (speak, go_on, fall_silent, translate, translate, resume, settle, compare)
_DESK = (hide, show, edit, correct, retranslate, undo, say, put_notice)
_ROOM = (
    leave_record,
    *map(command, ("on-record", "blank", "unblank", "pause", "resume")),
    wait,
    hang,
    crash,
)
Step = tuple[Callable[[Hall, int], None], int]
_NUMBER = st.integers(0, 60)
_ANY = st.tuples(
    st.one_of(
        *(st.sampled_from(_SPEECH),) * 2, *(st.sampled_from(_DESK),) * 3, st.sampled_from(_ROOM)
    ),
    _NUMBER,
)
_FEW = st.lists(_ANY, max_size=3)


@st.composite
def sentences(draw: st.DrawFn) -> list[Step]:
    """Return the steps of an utterance's life, with random steps between them."""
    life = (speak, fall_silent, translate, translate, settle)
    return [step for each in life for step in ((each, draw(_NUMBER)), *draw(_FEW))]


_STEPS = st.lists(sentences(), min_size=2, max_size=6).map(
    lambda each: list(chain.from_iterable(each))
)
_LANGS: st.SearchStrategy[tuple[str, ...]] = st.sampled_from([(), ("fr",), ("fr", "de")])


@st.composite
def halls(draw: st.DrawFn) -> tuple[tuple[str, ...], tuple[str, str]]:
    """Return further target languages, and the languages that YouTube and vMix show."""
    langs = draw(_LANGS)
    shown = st.sampled_from(("en", "es", *langs))
    return langs, (draw(shown), draw(shown))


def play(kind: tuple[tuple[str, ...], tuple[str, str]], steps: list[Step]) -> None:
    """Run a service with these steps; raise AssertionError if something gets out."""
    with TemporaryDirectory() as directory, pytest.MonkeyPatch.context() as patch:
        hall = Hall(Path(directory) / "run-0", *kind)
        patch.setattr("pipeline.daemon.context.service_sinks.time", hall.clock)
        for name in ("fsync", "fdatasync"):  # no test cuts the power
            patch.setattr(os, name, lambda _: None)
        with hall.stream, hall.screen:
            hall.begin()
            try:
                for step, number in steps:
                    step(hall, number)
                    hall.look()
                for server in (hall.stream, hall.screen):
                    server.go_on()
                hall.inspect()
                crash(hall, 0)
                hall.inspect()
            finally:
                hall.end()


@given(kind=halls(), steps=_STEPS)
@settings(FUZZ, max_examples=max(15, settings().max_examples * 3 // 4))
def test_nothing_that_is_hidden_or_off_the_record_gets_out(
    kind: tuple[tuple[str, ...], tuple[str, str]], steps: list[Step]
) -> None:
    play(kind, steps)
