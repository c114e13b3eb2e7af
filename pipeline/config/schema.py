"""The schema of config.toml: every key, its default, limits and time of effect. Pure.

A key that changes while the service runs takes effect at the next restart, unless it is marked
here with `LIVE` or `NEXT_UTTERANCE`. Keys that one validator compares have the same mark, so that
a change that takes effect without the others is valid.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Literal, Self

from pydantic import Field, field_validator, model_validator
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict

from pipeline.config.publishing import Output, Publish, Speech, refuse_unknown
from pipeline.config.section import (
    LIVE,
    NEXT_UTTERANCE,
    Lang,
    Learn,
    Log,
    ModelServer,
    OnServer,
    Operator,
    PathText,
    RecognizerName,
    Secret,
    Section,
    Session,
    Share,
    Text,
    Threads,
    TranslatorName,
    WebAddress,
)
from pipeline.config.targets import (
    Final,
    Partial,
    Prompt,
    Target,
    refuse_alike,
    refuse_doubled,
    spoken_apart,
)

PREFIX = "STARK_TRANSLATE__"

_COLOUR = re.compile("#[0-9a-fA-F]{6}")
_SHORTEST_WINDOW_S = 4.0
# Two of Silero's blocks of 32 ms.
_SHORTEST_SILENCE_MS = 64

# 160, 64 (eager_ms) and 256 give the same cuts as 400 ms, 64 ms sooner (docs/decisions/024).
_PAUSES = {"silence_ms": 160, "reopen_ms": 256, "fragment_ms": 800, "join_ms": 1200, "hold_ms": 0}
"""Pauses of the starter recognizer, and of any other for which the registry gives none."""


class Audio(Section):
    """[audio]"""

    device: Text = ""
    channel: Annotated[int, Field(ge=0, le=64)] = 1
    input: PathText = ""
    pace: Literal["realtime", "fast"] = "realtime"


class Vad(Section):
    """[vad]"""

    threshold: Annotated[Share, NEXT_UTTERANCE] = 0.5
    # Below the threshold (hysteresis): a voice that wavers around the threshold is not cut up.
    end_threshold: Annotated[Share, NEXT_UTTERANCE] = 0.35
    # -1: the recognizer's own value (`fitted`).
    silence_ms: Annotated[int, Field(ge=-1, le=5000), NEXT_UTTERANCE] = -1
    eager_ms: Annotated[int, Field(ge=0, le=5000), NEXT_UTTERANCE] = 64
    hold_ms: Annotated[int, Field(ge=-1, le=2000), NEXT_UTTERANCE] = -1
    reopen_ms: Annotated[int, Field(ge=-1, le=5000), NEXT_UTTERANCE] = -1
    fragment_ms: Annotated[int, Field(ge=-1, le=5000), NEXT_UTTERANCE] = -1
    join_ms: Annotated[int, Field(ge=-1, le=5000), NEXT_UTTERANCE] = -1
    # Drops coughs and knocks. The rest after a cut at the length limit is always kept.
    min_speech_ms: Annotated[int, Field(ge=32, le=2000), NEXT_UTTERANCE] = 250
    pre_roll_ms: Annotated[int, Field(ge=0, le=2000), NEXT_UTTERANCE] = 250
    # Whisper takes 30 s at once, and pre-roll and trailing silence need room in it.
    max_utterance_s: Annotated[float, Field(ge=2, le=28), NEXT_UTTERANCE] = 12.0
    # 0: finals only.
    partial_ms: Annotated[int, Field(ge=0, le=10_000), NEXT_UTTERANCE] = 800

    @field_validator("silence_ms")
    @classmethod
    def _no_tiny_silence(cls, silence_ms: int) -> int:
        if 0 <= silence_ms < _SHORTEST_SILENCE_MS:
            msg = f"must be -1 (what suits the recognizer) or at least {_SHORTEST_SILENCE_MS}"
            raise ValueError(msg)
        return silence_ms

    @model_validator(mode="after")
    def _ordered(self) -> Vad:
        if self.end_threshold > self.threshold:
            msg = "vad.end_threshold must not be above vad.threshold"
            raise ValueError(msg)
        if 0 < self.eager_ms < _SHORTEST_SILENCE_MS:
            msg = f"vad.eager_ms must be 0 (off) or at least {_SHORTEST_SILENCE_MS}"
            raise ValueError(msg)
        # An old file that sets only a short silence is valid: then there is no eager run. By its
        # value: after a reload every key counts as set.
        if self.eager_ms > _SHORTEST_SILENCE_MS and self.eager_ms >= self.fitted({}).silence_ms:
            msg = "vad.eager_ms must be below vad.silence_ms"
            raise ValueError(msg)
        return self

    def fitted(self, own: Mapping[str, int]) -> Vad:
        """Return a copy with the recognizer's `own` pauses, by key, where the settings have -1."""
        named = {key: ms for key in _PAUSES if (ms := getattr(self, key)) >= 0}
        # The copy is not validated: the registry has its own limits for pauses.
        return self.model_copy(update={**_PAUSES, **own, **named})


class Stt(OnServer):
    """[stt]"""

    engine: Literal["whisper", "moonshine", "openai"] = "whisper"
    model: RecognizerName = "auto"
    server_model: Text = ""
    deadline_s: Annotated[float, Field(gt=0, le=60)] = 3.0
    device: Literal["cpu", "cuda", "auto"] = "cpu"
    # Not a list: CTranslate2 knows the machine's types, and refuses the others by name.
    compute_type: Annotated[str, Field(min_length=1)] = "int8"
    threads: Threads = 2
    window_s: Annotated[float, Field(ge=0, le=30)] = 0.0
    # Off: with real voices hotwords lose two full stops of three, and other words (BENCHMARKS.md).
    hotwords: Annotated[bool, NEXT_UTTERANCE] = False
    commit: Annotated[Literal["alignatt", "agreement"], NEXT_UTTERANCE] = "alignatt"
    commit_s: Annotated[float, Field(ge=0, le=5), NEXT_UTTERANCE] = 0.5

    @property
    def local_engine(self) -> Literal["whisper", "moonshine"]:
        """The engine on this machine. Whisper is the fallback for an engine on a server."""
        return "whisper" if self.engine == "openai" else self.engine

    @model_validator(mode="after")
    def _has_server_model(self) -> Self:
        if self.engine == "openai" and not self.server_model:
            msg = 'engine = "openai" needs server_model, the name that the server has for its model'
            raise ValueError(msg)
        return self

    @field_validator("window_s")
    @classmethod
    def _no_tiny_window(cls, window_s: float) -> float:
        if 0 < window_s < _SHORTEST_WINDOW_S:
            msg = f"must be 0 (the model's own) or {_SHORTEST_WINDOW_S:g} to 30"
            raise ValueError(msg)
        return window_s


class Dictionary(Section):
    """[dictionary]"""

    enabled: Annotated[bool, LIVE] = True
    file: Annotated[PathText, LIVE] = ""


class Church(Section):
    """[church]"""

    name: Annotated[str, Field(min_length=0, max_length=60)] = ""
    logo: PathText = ""
    colour: Text = ""
    references: Annotated[bool, NEXT_UTTERANCE] = True
    numbers: Annotated[bool, NEXT_UTTERANCE] = True
    idioms: Annotated[bool, NEXT_UTTERANCE] = True
    negation: Annotated[bool, NEXT_UTTERANCE] = True
    glossary: Annotated[bool, NEXT_UTTERANCE] = True
    doubt: Annotated[bool, NEXT_UTTERANCE] = True
    hold_doubtful: Annotated[bool, LIVE] = False
    hold_s: Annotated[float, Field(ge=1, le=30), LIVE] = 8.0
    verses: Literal["off", "suggest", "air"] = "air"
    edition: Text = ""
    song: Annotated[Literal["auto", "manual", "off"], LIVE] = "auto"

    @field_validator("colour")
    @classmethod
    def _six_digits(cls, colour: str) -> str:
        if colour and not _COLOUR.fullmatch(colour):
            msg = f'{colour!r} is no colour such as "#1f5673"'
            raise ValueError(msg)
        return colour


class Compare(OnServer):
    """[translate.compare]"""

    engine: Literal["none", "gemma", "marian", "openai"] = "none"
    model: TranslatorName = "starter"
    prompt: Prompt = "auto"
    gpu_layers: Annotated[int, Field(ge=-1, le=1000)] = 0
    threads: Threads = 1
    context: Annotated[int, Field(ge=256, le=131_072)] = 2048
    batch: Annotated[int, Field(ge=32, le=4096)] = 128
    deadline_s: Annotated[float, Field(gt=0, le=600)] = 30.0


class Translate(Section):
    """[translate]"""

    source: Lang = "en"
    # All but the first of `source = ["en", "es"]`.
    also_spoken: tuple[Lang, ...] = ()
    target: Lang = "es"
    interpreter: Annotated[Literal["shown", "hidden"], LIVE] = "shown"
    address: Annotated[Literal["", "plural", "formal", "familiar"], LIVE] = ""
    partial: Partial = Partial()
    final: Final = Final()
    compare: Compare = Compare()
    targets: tuple[Target, ...] = ()

    @model_validator(mode="before")
    @classmethod
    def _several_spoken(cls, section: object) -> object:
        """Accept `source = ["en", "es"]`."""
        return spoken_apart(section) if isinstance(section, dict) else section

    @field_validator("targets", mode="before")
    @classmethod
    def _codes_alone(cls, targets: object) -> object:
        """Accept `targets = ["fr", "de"]` for entries that set nothing else."""
        if not isinstance(targets, list):
            return targets
        return [{"lang": each} if isinstance(each, str) else each for each in targets]

    @model_validator(mode="after")
    def _each_language_once_with_an_engine(self) -> Translate:
        refuse_alike(self.spoken, self.target)
        if self.final.engine == "marian" and self.partial.engine == "none":
            msg = 'translate.final.engine = "marian" needs translate.partial.engine = "marian"'
            raise ValueError(msg)
        refuse_doubled("" if self.also_spoken else self.source, self.target, self.targets)
        # `into` copies without validation, so inherited values are checked here.
        for alone in map(self.into, self.targets):
            if alone.final.engine == "marian" and alone.partial.engine == "none":
                why = 'final.engine = "marian" needs partial.engine = "marian"'
                msg = f"translate.targets, {alone.target!r}: no engine is left. {why}"
                raise ValueError(msg)
        return self

    @property
    def spoken(self) -> tuple[str, ...]:
        """The spoken languages. A service begins in the first one."""
        return (self.source, *self.also_spoken)

    @property
    def pairs(self) -> tuple[tuple[str, str], ...]:
        """The language pairs to translate: (spoken, caption language)."""
        return tuple((s, t) for t in self.langs for s in self.spoken if s != t)

    @property
    def langs(self) -> tuple[str, ...]:
        """The target languages, `target` first."""
        return (self.target, *(target.lang for target in self.targets))

    def into(self, target: Target) -> Translate:
        """Return the section as if an extra target were the only target.

        If the target language is itself spoken, another spoken language becomes the source.
        """
        # A stable sort: only the target's own language moves, to the end.
        source, *also = sorted(self.spoken, key=lambda each: each == target.lang)
        own = target.model_dump(include={"partial", "final"})
        if source != self.source:  # a model is for one language pair, and this pair is another
            own = {name: {"model": "auto"} | own[name] for name in own}
        sections = {name: getattr(self, name).model_copy(update=own[name]) for name in own}
        # Only the first target has a second final, so this one has none.
        narrow = {"source": source, "also_spoken": tuple(also), "target": target.lang}
        return self.model_copy(update={**narrow, "targets": (), "compare": Compare(), **sections})


class Server(Section):
    """[server]"""

    # By default phones cannot connect: the church must decide to let them in.
    host: Annotated[str, Field(min_length=1)] = "127.0.0.1"
    # 0: any free port, which the log names (`serving`).
    port: Annotated[int, Field(ge=0, le=65_535)] = 8765
    address: Annotated[WebAddress, LIVE] = ""
    history: Annotated[int, Field(ge=1, le=10_000), LIVE] = 200
    max_clients: Annotated[int, Field(ge=1, le=100_000), LIVE] = 1000
    # High, because a whole hall behind a proxy or router has one address.
    max_per_address: Annotated[int, Field(ge=1, le=100_000), LIVE] = 600
    ping_s: Annotated[float, Field(ge=1, le=600)] = 20.0
    tls_cert: PathText = ""
    tls_key: PathText = ""
    past_services: Annotated[Literal["off", "operators", "everyone"], LIVE] = "operators"

    @field_validator("host")
    @classmethod
    def _host_alone(cls, host: str) -> str:
        parts = re.fullmatch(r"(?:https?://)?([^:/]+)(?::(\d+))?/?", host)
        if parts and parts[1] != host:
            port = f" and port = {parts[2]}" if parts[2] else ""
            msg = f'host is an address alone: write host = "{parts[1]}"{port}'
            raise ValueError(msg)
        return host

    @model_validator(mode="after")
    def _both_files(self) -> Server:
        if bool(self.tls_cert) != bool(self.tls_key):
            msg = "server.tls_cert and server.tls_key must be set both, or neither"
            raise ValueError(msg)
        return self


class Engines(Section):
    """[engines]"""

    hang_s: Annotated[float, Field(ge=1, le=600)] = 10.0


class Models(Section):
    """[models]"""

    directory: PathText = ""


class Settings(BaseSettings):
    """Everything in config.toml, checked."""

    # Two underscores between section and key, because keys contain single ones.
    model_config = SettingsConfigDict(
        env_prefix=PREFIX,
        env_nested_delimiter="__",
        extra="forbid",
        frozen=True,
        hide_input_in_errors=True,  # the input may contain passwords
    )

    audio: Audio = Audio()
    vad: Vad = Vad()
    stt: Stt = Stt()
    dictionary: Dictionary = Dictionary()
    church: Church = Church()
    translate: Translate = Translate()
    speech: Speech = Speech()
    servers: dict[str, ModelServer] = {}
    server: Server = Server()
    publish: Publish = Publish()
    # Output addresses may contain passwords.
    outputs: Annotated[tuple[Output, ...], Secret(is_address=True)] = ()
    engines: Engines = Engines()
    models: Models = Models()
    session: Session = Session()
    learn: Learn = Learn()
    operator: Operator = Operator()
    log: Log = Log()

    @model_validator(mode="after")
    def _outputs_show_what_there_is(self) -> Settings:
        refuse_unknown(self.outputs, [*self.translate.langs, self.translate.source])
        return self

    @model_validator(mode="after")
    def _what_is_spoken_is_shown(self) -> Settings:
        if others := set(self.speech.languages) - set(self.translate.langs):
            msg = (
                f"speech.languages: {', '.join(sorted(others))} is no caption language; those are: "
                f"{', '.join(self.translate.langs)}"
            )
            raise ValueError(msg)
        return self

    @model_validator(mode="after")
    def _servers_are_named(self) -> Settings:
        translate = self.translate
        used: list[tuple[str, str, OnServer]]
        used = [("stt", "", self.stt), ("translate.compare", "", translate.compare)]
        for each in (translate, *map(translate.into, translate.targets)):
            of = "" if each is translate else f" ({each.target})"
            used += [("translate.partial", of, each.partial), ("translate.final", of, each.final)]
        for table, of, section in used:
            if section.engine == "openai" and not section.server:
                needs = 'needs server = "NAME", and [servers.NAME] with its url'
                msg = f'{table}.engine = "openai"{of} {needs}'
                raise ValueError(msg)
            if section.server and section.server not in self.servers:
                known = ", ".join(sorted(self.servers)) or "none yet"
                msg = (
                    f"{table}.server is {section.server!r}{of}, and there is no "
                    f"[servers.{section.server}]; named are: {known}"
                )
                raise ValueError(msg)
        return self

    def server_of(self, section: OnServer) -> ModelServer:
        """Return the server that a table names. The table must name one."""
        return self.servers[section.server]

    def by_target(self) -> tuple[Settings, ...]:
        """Return the settings of each extra target, as if it were the only target."""
        alone = map(self.translate.into, self.translate.targets)
        return tuple(self.model_copy(update={"translate": each}) for each in alone)

    def for_each_target(self) -> tuple[Settings, ...]:
        """Return the settings of the first target (these), then those of each extra target."""
        return (self, *self.by_target())

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Take only what `load` has merged: pydantic orders its sources differently."""
        return (init_settings,)
