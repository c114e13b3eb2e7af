"""A better translator, the teacher, translates a training mix sentence by sentence.

Its translations are saved line by line (`taught.jsonl`: source, reference, teacher's), so that an
interrupted teaching resumes, also after a lost server.
"""

from __future__ import annotations

import hashlib
import shutil
import threading
from collections.abc import Callable, Collection, Generator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson
from pydantic import TypeAdapter

from pipeline.config.loader import Loaded, load
from pipeline.config.schema import Settings
from pipeline.core.errors import EngineError, LearningError, SessionError, reading, writing
from pipeline.core.files import GrowingFile, write_whole
from pipeline.engines.ctranslate2.marian import Marian
from pipeline.engines.process.factory import final_translator
from pipeline.engines.protocols import Translator, never
from pipeline.learning.compare import weights_of
from pipeline.learning.manifest import sha256, write_manifest
from pipeline.learning.mix.augment import Example
from pipeline.learning.mix.mix_files import HELD_OUT, TRAIN, example_line
from pipeline.models.automatic import translator_name
from pipeline.models.library import ModelLibrary
from pipeline.models.registry import CaptionRole
from pipeline.models.resolve import resolve
from pipeline.protocol.codec import parse_json
from pipeline.session.reader import read_lines

TAUGHT = "taught.jsonl"
TEACHER = "teacher.json"
_GONE = {"server-gone", "server-busy", "server-refuses", "server-other-model"}
"""Errors that would occur with any sentence."""
_FAILURES = 3
"""After so many failures in a row the teacher is at fault; fewer may be the sentences' fault."""
_FIELDS = TypeAdapter(dict[str, str | float])


@dataclass(frozen=True, slots=True)
class Lesson:
    """A line of a mix with the teacher's translation, which is empty if the teacher failed."""

    source: str
    reference: str
    teacher: str
    part: str
    weight: float


@dataclass(frozen=True, slots=True, kw_only=True)
class TeachingOrder:
    """What to teach: the mix, the teacher and the languages."""

    mix: Path
    out: Path
    teacher: str
    """The teacher's name in the settings."""
    teacher_id: str
    """The SHA-256 of its weights; for a model on a server, its name."""
    langs: tuple[str, str]
    parts: Collection[str] = ()
    """Parts of the mix; empty: all."""


def teach(
    order: TeachingOrder,
    teachers: Sequence[Translator],
    *,
    on_start: Callable[[int, int], None] = lambda *_: None,
    on_lesson: Callable[[], None] = lambda: None,
) -> list[Lesson]:
    """Have the teacher translate a mix; resume an earlier teaching that was interrupted.

    `teachers` are loaded instances of the same teacher, used in parallel. `on_start` gets the
    number of lessons that exist already, and the total. Raises LearningError (mix-missing,
    mix-unreadable, teacher-other, taught-unreadable, learning-unwritable, teacher-silent,
    teacher-gone).
    """
    # Before the folder is created: an unusable mix leaves nothing behind.
    lines = _mix_lines(order)
    path = order.out / TAUGHT
    with writing_to(order.out):
        order.out.mkdir(parents=True, exist_ok=True)
        # Before the file is created: without the file this is a first teaching.
        _require_same(order)
        # No fsync: lessons lost in a power cut are taught again.
        file = GrowingFile(path, sync=False, keep=True)
    # After the file was opened, since opening cuts off an incomplete last line.
    lessons = _read(path, order.langs)
    on_start(len(lessons), len(lines))
    # Closed here in every case: if Python did it, `_lessons` would end its threads later.
    with (
        closing(file),
        writing_to(order.out),
        closing(_lessons(order, lines[len(lessons) :], teachers)) as made,
    ):
        for lesson in made:
            file.append(_line(lesson, order.langs))
            lessons.append(lesson)
            on_lesson()
    # Without any lesson a student would be trained for hours on the references alone.
    if not any(lesson.teacher for lesson in lessons):
        raise LearningError(
            "teacher-silent",
            f"{order.teacher} has translated none of {len(lessons)} sentences.",
            "Try it with `stark-translate check`, or name another --teacher.",
        )
    return lessons


def _translated(translator: Translator, source: str) -> str:
    """Return a translation, "" for one that did not end by itself. Raises EngineError."""
    made = translator.translate(source)
    # The student would learn half a translation or a repeated one as a whole one.
    return "" if made.stopped in ("loop", "length") else made.text.strip()


def writing_to(place: Path) -> AbstractContextManager[None]:
    """Turn an OSError of the block into the error for a folder that cannot be written to."""
    fix = "Make room, or give another --out; what was taught until then is kept."
    return writing(place, LearningError, "learning-unwritable", fix)


def _lessons(
    order: TeachingOrder, lines: Sequence[Mapping[str, Any]], teachers: Sequence[Translator]
) -> Generator[Lesson, None, None]:
    """Yield the lessons; failed ones only after a later one shows that the teacher still works.

    Raises LearningError (teacher-gone).
    """
    stopped = threading.Event()

    def attempt(line: Mapping[str, Any], teacher: Translator) -> tuple[Lesson, EngineError | None]:
        # Only for this call: the same translator may be used elsewhere afterwards.
        teacher.is_cancelled = stopped.is_set
        try:
            return _lesson(line, _translated(teacher, str(line[order.langs[0]])), order), None
        except EngineError as error:
            return _lesson(line, "", order), error
        finally:
            teacher.is_cancelled = never

    waiting: list[Lesson] = []
    with ThreadPoolExecutor(len(teachers)) as pool:
        try:
            for first in range(0, len(lines), len(teachers)):
                # As many lines as teachers: no two threads use one teacher at the same time.
                some = lines[first : first + len(teachers)]
                for lesson, error in pool.map(attempt, some, teachers):
                    # Failed lessons are not written: the next run begins with these sentences.
                    waiting.append(lesson)
                    if error is None:
                        # In the mix's order: only the line number links a lesson to its sentence.
                        yield from waiting
                        waiting.clear()
                    elif error.code in _GONE or len(waiting) == _FAILURES:
                        raise _gone(order.teacher, error)
        finally:
            # A caller that stops the teaching does not wait for the sentences in progress.
            stopped.set()
    yield from waiting


def _gone(teacher: str, error: EngineError) -> LearningError:
    return LearningError(
        "teacher-gone",
        f"{teacher} does not translate any more: {error.message} What it has translated is kept.",
        f"{error.fix} The same command goes on from there.".strip(),
    )


def _mix_lines(order: TeachingOrder) -> list[dict[str, Any]]:
    path = order.mix / TRAIN
    try:
        lines = [orjson.loads(line) for line in path.read_bytes().splitlines()]
        chosen = [each for each in lines if not order.parts or each["part"] in order.parts]
        for each in chosen:
            # This finds a missing field now and not in the middle of the teaching.
            _ = [each[name] for name in (*order.langs, "weight")]
    except FileNotFoundError:
        raise LearningError(
            "mix-missing", f"There is no {path}.", "Run `stark-translate learn mix` first."
        ) from None
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise LearningError(
            "mix-unreadable", f"{path} cannot be used: {error!r}.", "Make the mix again."
        ) from None
    if not chosen:
        parts = " or ".join(order.parts) or "pair"
        raise LearningError(
            "mix-empty", f"There is no {parts} in {path}.", "Collect sermons and mix again."
        )
    return chosen


def _require_same(order: TeachingOrder) -> None:
    """Record teacher and mix, or check that they are unchanged. Raises LearningError, OSError."""
    facts = {
        "teacher": order.teacher_id,
        "mix": sha256(order.mix / TRAIN),
        "parts": sorted(order.parts),
        "langs": list(order.langs),
    }
    path = order.out / TEACHER
    if not (order.out / TAUGHT).exists():
        write_whole(path, orjson.dumps(facts))
        return
    try:
        before = orjson.loads(path.read_bytes())
    # Lessons without a teacher's name may come from any teacher.
    except (FileNotFoundError, orjson.JSONDecodeError):
        before = None
    if before != facts:
        raise LearningError(
            "teacher-other",
            f"What is in {order.out} was taught by another teacher, or from another mix.",
            "Give another --out, or delete that folder.",
        )


def _lesson(line: Mapping[str, Any], translated: str, order: TeachingOrder) -> Lesson:
    source, target = order.langs
    texts = str(line[source]), str(line[target]), translated
    return Lesson(*texts, str(line["part"]), float(line["weight"]))


def _line(lesson: Lesson, langs: tuple[str, str]) -> bytes:
    source, target = langs
    fields = {
        source: lesson.source,
        f"{target}_reference": lesson.reference,
        f"{target}_teacher": lesson.teacher,
        "part": lesson.part,
        "weight": lesson.weight,
    }
    return orjson.dumps(fields, option=orjson.OPT_APPEND_NEWLINE)


def _read(path: Path, langs: tuple[str, str]) -> list[Lesson]:
    source, target = langs

    def parse(line: bytes) -> Lesson:
        fields = parse_json(_FIELDS, line)
        return Lesson(
            str(fields[source]),
            str(fields[f"{target}_reference"]),
            str(fields[f"{target}_teacher"]),
            str(fields["part"]),
            float(fields["weight"]),
        )

    wrong = (SessionError, KeyError, TypeError, ValueError)
    with reading(path, LearningError, "taught-unreadable", "Delete it and teach again.", wrong):
        return read_lines(path, parse)


MIX = "mix"
BEAM = 4
"""Beam size of a Marian teacher. llama.cpp has no beam search, so a Gemma decodes greedily."""
SHARE = 0.5
"""The teacher's share of what the student learns."""


def write_student_mix(order: TeachingOrder, lessons: Sequence[Lesson]) -> Mapping[str, int]:
    """Write the student's training mix; return the numbers of teacher's and reference pairs.

    Raises LearningError (learning-unwritable).
    """
    place = order.out / MIX
    counts = {"teacher": 0, "reference": 0}
    lines = []
    for lesson in lessons:
        whose = "teacher" if lesson.teacher and _is_taught(lesson.source) else "reference"
        counts[whose] += 1
        text = lesson.teacher if whose == "teacher" else lesson.reference
        pair = Example(source=lesson.source, target=text, part=lesson.part, weight=lesson.weight)
        lines.append(example_line(pair, order.langs))
    with writing_to(place):
        place.mkdir(parents=True, exist_ok=True)
        write_whole(place / TRAIN, b"".join(lines))
        # Unchanged: the student is measured against people's translations, not its teacher's.
        shutil.copyfile(order.mix / HELD_OUT, place / HELD_OUT)
        write_manifest(
            place / "manifest.json",
            step="distill",
            inputs=[order.mix / TRAIN, order.out / TAUGHT],
            settings={"teacher": order.teacher, "share": SHARE, "parts": list(order.parts)},
            figures=counts,
        )
    return counts


def _is_taught(source: str) -> bool:
    """Whether a pair gets the teacher's translation: always the same half."""
    # By its text, not at random: a resumed teaching makes the same choice as before.
    return hashlib.sha256(source.encode()).digest()[0] < 256 * SHARE


_DEADLINE_S = 300.0
"""Long, for a passage of five verses and a large model on a CPU."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Teacher:
    """A translator that was chosen and is not loaded yet."""

    engine: str
    """As in translate.final.engine."""
    model: str
    id: str
    """Identifies it when a teaching resumes: the SHA-256 of its weights. A model on a server is
    identified by its name without the address, so that another machine can continue."""
    settings: Settings
    """Settings in which it is the final translator."""

    def load(self) -> list[Translator]:
        """Return loaded instances, one for each parallel request.

        Raises ModelError, ConfigError, LearningError (teacher-gone) if a server does not answer.
        """
        final = self.settings.translate.final
        at_a_time = final.requests if self.engine == "openai" else 1
        # Each has its own connection: a translator serves one thread at a time.
        made = [self._translator() for _ in range(at_a_time)]
        for each in made:
            each.load()
            if self.engine == "openai" and each.degraded_reason:
                # Now, and not when the student has been trained and the rows need the teacher.
                place = self.settings.server_of(final).url
                raise LearningError(
                    "teacher-gone",
                    f"{self.model} at {place} cannot teach: {each.degraded_reason}",
                    "Start the server, or name another one with --set translate.final.server=NAME.",
                )
        return made

    def _translator(self) -> Translator:
        if self.engine == "marian":
            model = resolve("marian", self.model, ModelLibrary.of(self.settings))
            return Marian(model, beam=BEAM, target=self.settings.translate.target)
        made = final_translator(self.settings)
        if made is None:
            raise LearningError("teacher-none", f"{self.model} is no final translator.")
        return made


def choose_teacher(loaded: Loaded, model: str = "") -> Teacher:
    """Return the final translator of the settings, with another `model` if one is named.

    For a model that is not the settings' own, the prompt is "auto" unless a flag sets it.
    Raises ModelError, ConfigError.
    """
    final = loaded.settings.translate.final
    role: CaptionRole = "marian" if final.engine == "marian" else "gemma"
    own = translator_name(loaded.settings, role)
    name = model or own
    flags = {**loaded.flags, "translate.final.deadline_s": _DEADLINE_S}
    if role == "gemma":
        flags["translate.final.model"] = name
    if name != own:
        # The user's flags come last, so an explicit one overrides this.
        flags = {"translate.final.prompt": "auto"} | flags
    settings = load(loaded.file, flags).settings
    if final.engine == "openai":
        known = f"openai:{name}"
    else:
        known = sha256(weights_of(resolve(role, name, ModelLibrary.of(settings))))
    if (prompt := settings.translate.final.prompt) != "auto":
        known = f"{known} {prompt}"  # another prompt gives other translations
    return Teacher(engine=final.engine, model=name, id=known, settings=settings)
