"""Who teaches in a distillation: any engine that makes finals, here or on a server."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, get_args

from pipeline.config.loader import Loaded, load
from pipeline.config.schema import Settings
from pipeline.core.errors import LearningError, UsageError
from pipeline.engines.ctranslate2.marian import Marian
from pipeline.engines.process.factory import final_translator
from pipeline.engines.protocols import Translator
from pipeline.learning.compare import weights_of
from pipeline.learning.manifest import sha256
from pipeline.learning.teach.teaching import BEAM
from pipeline.models.automatic import translator_name
from pipeline.models.library import ModelLibrary
from pipeline.models.resolve import resolve

TeacherEngine: TypeAlias = Literal["gemma", "marian", "openai"]
TEACHER_ENGINES: tuple[TeacherEngine, ...] = get_args(TeacherEngine)
_DEADLINE_S = 300.0
"""A teacher may take its time: a passage of five verses from a large model on a CPU."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What is asked for of a teacher; "" is as the settings have it."""

    engine: TeacherEngine | Literal[""] = ""
    model: str = ""
    """A name or a path, or what a server calls it."""
    url: str = ""
    key_file: str = ""
    ca_file: str = ""
    prompt: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Teacher:
    """A translator that was chosen and not yet loaded."""

    engine: TeacherEngine
    model: str
    id: str
    """By which an interrupted teaching knows it again: the SHA-256 of its weights. Of a server's
    model only the name is known, and not the address, so that another machine may go on."""
    settings: Settings
    """In which it is the final translator, or the quick one if it is a Marian."""

    def load(self) -> list[Translator]:
        """Return it ready, so often as it is to be asked at a time.

        Raises ModelError, ConfigError, LearningError (teacher-gone) where a server is not there.
        """
        final = self.settings.translate.final
        at_a_time = final.requests if self.engine == "openai" else 1
        made = [self._translator() for _ in range(at_a_time)]
        for each in made:
            each.load()
            if self.engine == "openai" and each.degraded_reason:
                # Now, and not when the student has been trained and the rows need it.
                place = self.settings.server_of(final).url
                raise LearningError(
                    "teacher-gone",
                    f"{self.model} at {place} cannot teach: {each.degraded_reason}",
                    "Start the server, or name another one with --teacher-url.",
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


def choose_teacher(loaded: Loaded, asked: Asked) -> Teacher:
    """Return the teacher that is asked for, the final translator in use where nothing is.

    A model that is not the one in use is asked as it wants to be, and a server that is not the one
    in use gets none of its keys. Raises UsageError (teacher-unnamed), ModelError, ConfigError.
    """
    engine = asked.engine or _engine(loaded.settings, asked)
    if asked.url and engine != "openai":
        message = f"--teacher-url is of a server, and {engine} translates here."
        raise UsageError("teacher-here", message, "Leave it out, or --teacher-engine.")
    if engine == "marian":
        model = asked.model or translator_name(loaded.settings, "marian")
        settings = loaded.settings
    else:
        model = asked.model or _own_model(loaded.settings, engine, asked)
        settings = load(
            loaded.file, {**loaded.flags, **_final(loaded, engine, model, asked)}
        ).settings
    # Asked in another way it says other things.
    known = " ".join(filter(None, (_model_id(engine, model, settings), asked.prompt)))
    return Teacher(engine=engine, model=model, id=known, settings=settings)


def _final(loaded: Loaded, engine: TeacherEngine, model: str, asked: Asked) -> Mapping[str, Any]:
    """Return the keys with which the final translator is the teacher."""
    final = loaded.settings.translate.final
    keys: dict[str, Any] = {"engine": engine, "model": model, "deadline_s": _DEADLINE_S}
    if (engine, model) != (final.engine, final.model) or asked.prompt:
        keys["prompt"] = asked.prompt or "auto"
    flags = {f"translate.final.{key}": value for key, value in keys.items()}
    server = _server(loaded.settings, asked)
    if engine == "openai" and server["url"]:
        flags |= {"servers.teacher": server, "translate.final.server": "teacher"}
    return flags


def _engine(settings: Settings, asked: Asked) -> TeacherEngine:
    if asked.url:
        return "openai"
    final = settings.translate.final.engine
    # There the quick translator's text is final at once: nothing for it to learn from itself.
    return "gemma" if final == "marian" else final


def _own_model(settings: Settings, engine: TeacherEngine, asked: Asked) -> str:
    """Return the model of the settings, where it is one of this engine. Raises UsageError."""
    final = settings.translate.final
    is_here = engine == "gemma" and final.engine == "marian"
    is_same = engine == final.engine and (engine != "openai" or _is_server_in_use(settings, asked))
    if is_here or is_same:
        return translator_name(settings, "gemma") if engine == "gemma" else final.model
    what = "what the server calls it" if engine == "openai" else "a name or a path"
    raise UsageError(
        "teacher-unnamed",
        f"Which model of {engine} is to teach? The settings name none.",
        f"Name it with --teacher: {what}.",
    )


def _is_server_in_use(settings: Settings, asked: Asked) -> bool:
    final = settings.translate.final
    own = settings.server_of(final).url if final.engine == "openai" else None
    return own is not None and asked.url.rstrip("/") in ("", own)


def _server(settings: Settings, asked: Asked) -> Mapping[str, str]:
    """Return where the server is and how it is opened."""
    given = {"url": asked.url, "key_file": asked.key_file, "ca_file": asked.ca_file}
    # A key is for the server that it was given for.
    if _is_server_in_use(settings, asked):
        own = settings.server_of(settings.translate.final).model_dump()
        given = {key: given[key] or own[key] for key in given}
    return given


def _model_id(engine: TeacherEngine, model: str, settings: Settings) -> str:
    if engine == "openai":
        return f"openai:{model}"
    return sha256(weights_of(resolve(engine, model, ModelLibrary.of(settings))))
