"""The translators of the first target language and of extra [[translate.targets]]. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import Field, SerializerFunctionWrapHandler, model_serializer

from pipeline.config.section import (
    NEXT_UTTERANCE,
    Lang,
    OnServer,
    Section,
    Text,
    Threads,
    TranslatorName,
)

Prompt: TypeAlias = Literal["auto", "translategemma", "starter", "examples"]


class Partial(OnServer):
    """[translate.partial]"""

    engine: Literal["marian", "none", "openai"] = "marian"
    model: TranslatorName = "auto"
    threads: Threads = 1
    prompt: Prompt = "auto"
    deadline_s: Annotated[float, Field(gt=0, le=60)] = 2.0
    local: Text = ""


class Final(OnServer):
    """[translate.final]"""

    engine: Literal["gemma", "marian", "openai"] = "gemma"
    model: TranslatorName = "auto"
    prompt: Prompt = "auto"
    gpu_layers: Annotated[int, Field(ge=-1, le=1000)] = 0
    # Two are faster if nothing else runs, and slower if something does (docs/decisions/018).
    threads: Threads = 1
    context: Annotated[int, Field(ge=256, le=131_072)] = 2048
    batch: Annotated[int, Field(ge=32, le=4096)] = 128
    # Few: on a slow CPU a batch of tokens takes nearly as long as one token after the other.
    draft: Annotated[int, Field(ge=0, le=16)] = 2
    requests: Annotated[int, Field(ge=1, le=100)] = 5
    stream: Annotated[bool, NEXT_UTTERANCE] = True
    deadline_s: Annotated[float, Field(gt=0, le=600), NEXT_UTTERANCE] = 8.0
    stability: Annotated[Literal["calm", "best"], NEXT_UTTERANCE] = "calm"
    search: Annotated[bool, NEXT_UTTERANCE] = True


def _what_is_set(self: OnServer, dump: SerializerFunctionWrapHandler) -> dict[str, Any]:
    # `Translate.into` puts the dump over inherited values, so it must not contain defaults.
    return {key: value for key, value in dump(self).items() if key in self.model_fields_set}


class TargetPartial(Partial):
    """`partial` of an extra target; keys not set there are inherited from [translate.partial]."""

    _what_is_set = model_serializer(mode="wrap")(_what_is_set)


class TargetFinal(Final):
    """`final` of an extra target; keys not set there are inherited from [translate.final]."""

    _what_is_set = model_serializer(mode="wrap")(_what_is_set)


class Target(Section):
    """[[translate.targets]]: an extra target language, translated from the same recognition."""

    lang: Lang
    rest: bool = True
    partial: TargetPartial = TargetPartial()
    final: TargetFinal = TargetFinal()


def spoken_apart(section: Mapping[str, Any]) -> dict[str, Any]:
    """Return [translate] with `source = ["en", "es"]` split into `source` and `also_spoken`.

    Each spoken language becomes a caption language too, so that its speech can be read.
    """
    apart = dict(section)
    source = apart.get("source", "en")
    if isinstance(source, list | tuple) and source:
        apart |= {"source": source[0], "also_spoken": source[1:]}
    targets, also = apart.get("targets", ()), apart.get("also_spoken", ())
    if also and isinstance(also, list | tuple) and isinstance(targets, list | tuple):
        listed = [each.get("lang") if isinstance(each, Mapping) else each for each in targets]
        listed.append(apart.get("target", "es"))
        spoken = (apart.get("source", "en"), *also)
        apart["targets"] = [*targets, *(each for each in spoken if each not in listed)]
    return apart


def refuse_alike(spoken: Sequence[str], target: str) -> None:
    """Raise ValueError if the first target is the first spoken language, or one is listed twice."""
    first, *also = spoken
    if first == target:
        says = f"both {target!r}: source is what is spoken, target what is shown"
        if also:
            says = f'both {target!r}: set target = "{also[0]}". What is spoken is shown as well'
        msg = f"translate.source and translate.target are {says}"
        raise ValueError(msg)
    if len(set(spoken)) < len(spoken):
        msg = "translate.source names a language twice"
        raise ValueError(msg)


def refuse_doubled(source: str, first: str, targets: Sequence[Target]) -> None:
    """Raise ValueError if a language is listed twice, or is the only spoken language."""
    langs = [first, *(target.lang for target in targets)]
    # `refuse_alike` checks the first target, with another message.
    if source in langs[1:]:
        msg = (
            f"translate.targets has {source!r}, which is translate.source: what is spoken "
            "can always be shown and needs no entry"
        )
        raise ValueError(msg)
    for lang in langs[1:]:
        if langs.count(lang) > 1:
            which = "; translate.target is the first one" if lang == first else ""
            msg = f"translate.targets has {lang!r} twice: list each further one once{which}"
            raise ValueError(msg)
