"""Choose the models for "auto", a recognizer's window and pauses; name the models in use."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from pydantic import BaseModel, Field, TypeAdapter, ValidationError

from pipeline.config.schema import Settings
from pipeline.core.errors import ConfigError, ModelError
from pipeline.core.files import write_whole
from pipeline.core.resources import require_extra
from pipeline.models.crash_history import crash_history
from pipeline.models.library import ModelLibrary
from pipeline.models.registry import KEYS, STARTER, Model, Role, shipped
from pipeline.models.resolve import resolve

AUTO = "auto"
FIRST = "whisper-base"
"""A recognizer for real voices that any machine can run: `auto` uses it before any tuning."""
_KEPT_UP = "tuned.json"
_MOONSHINE = Path("assets", "tiny-en")
_KeptUp = TypeAdapter(dict[str, bool])
FOR_PEOPLE: Mapping[Role, str] = {
    "stt": "recognizer",
    "marian": "quick translator",
    "gemma": "final translator",
}
"""The engine of each role, in words."""
FULL_S = 30.0
"""Whisper's own window, which every model was trained on."""
PROOF = "proof.json"
"""Its file in the folder of a trained model: how its conversion was verified."""
_STARTER_S = 10.0


def recognizer_name(settings: Settings) -> str:
    """Return the value of `stt.model`; "auto" becomes the name of a model. Raises ModelError.

    "auto" is the largest pulled model that is fast enough here by `tune`; before any tuning
    whisper-base, if it is pulled; else the starter. For a streaming engine it is the model in the
    engine's package. Raises ConfigError if that is not possible.
    """
    if settings.stt.model != AUTO:
        return settings.stt.model
    if settings.stt.local_engine != "whisper":
        return str(_own_model(settings))
    fast_enough, untried = _choices(settings, "stt")
    if fast_enough:
        return fast_enough
    # An unmeasured model may be used, one that was found too slow may not.
    return FIRST if FIRST in untried else STARTER


def translator_name(settings: Settings, role: Role, name: str = "") -> str:
    """Return the name of a translator's model: `name`, or else that of the settings.

    `role` is "marian" or "gemma". "auto" is the largest downloaded model of the two languages that
    is fast enough here, as `tune` has measured or `setup` has calculated. Without such a model it
    is the starter; if the starter lacks the languages, the smallest unmeasured model. On a server
    "auto" is the starter, which `serve-model` serves by default.
    Raises ModelError.
    """
    translate = settings.translate
    own = translate.partial.model if role == "marian" else translate.final.model
    if (name or own) != AUTO:
        return name or own
    if (translate.partial if role == "marian" else translate.final).engine == "openai":
        return STARTER
    fast_enough, untried = _choices(settings, role)
    starter = shipped(role, STARTER)
    knows = starter is not None and f"{translate.source}-{translate.target}" in starter.languages
    return fast_enough or (STARTER if knows or not untried else untried[0])


def _choices(settings: Settings, role: Role) -> tuple[str, Sequence[str]]:
    """Return the largest model that is fast enough, "" for none, and the unmeasured models.

    The unmeasured ones are sorted by size, the smallest first.
    """
    library = ModelLibrary.of(settings)
    kept_up = _read(library)
    here = sorted(_here(library, settings, role), key=lambda model: model.size_bytes)
    # In a family the larger model is better.
    fast_enough = [model.name for model in here if kept_up.get(model.name)]
    untried = [model.name for model in here if model.name not in kept_up]
    return fast_enough[-1] if fast_enough else "", untried


def _own_model(settings: Settings) -> Path:
    source = settings.translate.source
    if source != "en":
        raise ConfigError(
            "lang-unsupported",
            f"The model that Moonshine brings along hears en, and translate.source is {source}.",
            "Set stt.model to the folder of another one, or take another stt.engine.",
        )
    return require_extra("moonshine_voice", "moonshine", 'stt.engine = "moonshine"') / _MOONSHINE


def models_in_use(settings: Settings) -> dict[Role, str]:
    """Return the name of each model that makes captions of the first target, by its role."""
    return {"stt": recognizer_name(settings), **translators_in_use(settings)}


def translators_in_use(settings: Settings) -> dict[Role, str]:
    """Return the names of the first target's translators, by role."""
    translate = settings.translate
    names: dict[Role, str] = {}
    if translate.partial.engine == "marian":
        names["marian"] = translator_name(settings, "marian")
    # A model on a server has no files here, but its local fallback has.
    elif translate.partial.engine == "openai" and translate.partial.local:
        names["marian"] = translator_name(settings, "marian", translate.partial.local)
    if translate.final.engine == "gemma":
        names["gemma"] = translator_name(settings, "gemma")
    return names


def names_in_use(settings: Settings) -> dict[str, str]:
    """Return the names of the models in use, by the engine's name for people."""
    names = {FOR_PEOPLE[role]: name for role, name in models_in_use(settings).items()}
    if (engine := settings.stt.engine) == "openai":
        names[FOR_PEOPLE["stt"]] = f"{engine}:{settings.stt.server_model}"
    elif engine != "whisper":  # the model is a folder: only its last part is shown
        names[FOR_PEOPLE["stt"]] = f"{engine}:{Path(names[FOR_PEOPLE['stt']]).name}"
    return names


def remember(settings: Settings, name: str, *, keeps_up: bool) -> None:
    """Save for `auto` whether a model is fast enough by `tune` or `setup`.

    Nothing is saved in a folder that belongs to another user.
    """
    library = ModelLibrary.of(settings)
    # `auto` chooses only among the registry's names: a result for a folder would never be used.
    if name in library.known:
        # Stored with the models, since it is about these files on this machine.
        results = {**_read(library), name: keeps_up}
        with contextlib.suppress(OSError):
            library.directory.mkdir(parents=True, exist_ok=True)
            write_whole(library.directory / _KEPT_UP, _KeptUp.dump_json(results, indent=1))


def require_languages(role: Role, name: str, settings: Settings, *, key: str = "") -> None:
    """Check that a model was made for the languages of the settings.

    For a path or a hub id nothing is known, so it passes. `key` is as for `resolve`.
    Raises ConfigError (lang-unsupported), ModelError.
    """
    translate = settings.translate
    model = ModelLibrary.of(settings).known.get(name)
    if model is not None and model.role != role:
        return  # a model of another role, which `resolve` reports
    about = shipped(role, name) or model
    made_for = about.languages if about else ()
    wanted = translate.source if role == "stt" else f"{translate.source}-{translate.target}"
    if role == "stt" and made_for:
        wanted = next((lang for lang in translate.spoken if lang not in made_for), wanted)
    if made_for and wanted not in made_for:
        does = "hears" if role == "stt" else "translates"
        others = [
            each.name
            for each in ModelLibrary.of(settings).known.values()
            if each.role == role and _can(each, settings)
        ]
        choose = f"Choose another model: {', '.join(others)}" if others else "No known model does"
        without = ', or set partial.engine to "none"' if role == "marian" else ""
        raise ConfigError(
            "lang-unsupported",
            f"{key or KEYS[role]}: {name} {does} {', '.join(made_for)}, "
            f"and translate.source and target ask for {wanted}.",
            f"{choose} (`stark-translate models list`){without}, or correct the languages.",
        )


def _can(model: Model, settings: Settings) -> bool:
    """Whether a model supports the settings' languages, a recognizer all the spoken ones."""
    translate = settings.translate
    spoken = translate.spoken if model.role == "stt" else (translate.source,)
    return all(model.can(lang, translate.target) for lang in spoken)


def _here(library: ModelLibrary, settings: Settings, role: Role) -> Iterator[Model]:
    """Yield the pulled models for the settings' languages that are complete and can be loaded."""
    crashes = crash_history(settings)
    for name, model in library.known.items():
        is_meant = model.role == role and not model.is_behind_starter
        if is_meant and _can(model, settings):
            with contextlib.suppress(ModelError):  # "auto" skips a broken model
                manifest = library.manifest(name)
                if manifest is None or library.faults(manifest):
                    continue
                # The engine's keeper would refuse a given-up model (`crashed_before`).
                if not crashes.is_given_up(resolve(role, name, library)):
                    yield model


def _read(library: ModelLibrary) -> dict[str, bool]:
    """Return the saved results by model; a damaged file gives none."""
    try:
        return _KeptUp.validate_json((library.directory / _KEPT_UP).read_bytes())
    except (OSError, ValidationError):
        return {}


def own_window_s(model: Path, library: ModelLibrary) -> float:
    """Return the shortest window, in seconds, that costs the model in this folder no accuracy.

    It is in the registry for pulled models, and in the proof for a model made by `learn hear`. It
    is 30, Whisper's own, if nobody has measured it. Raises ModelError (registry-broken).
    """
    # Not `resolve`: a damaged starter would raise here, even if the recognizer is another one.
    if (starter := shipped("stt", STARTER)) and model == starter.folder:
        return _STARTER_S
    if (proved := _proved_s(model / PROOF)) is not None:
        return proved
    known = _known(model, library)
    return FULL_S if known is None or known.window_s is None else known.window_s


def own_pauses(settings: Settings) -> Mapping[str, int]:
    """Return the [vad] values that suit the recognizer, by key, for keys that are not set.

    Raises ModelError, ConfigError.
    """
    if settings.stt.local_engine != "whisper":
        return {}
    library = ModelLibrary.of(settings)
    known = _known(resolve("stt", recognizer_name(settings), library), library)
    return {} if known is None else {str(key): ms for key, ms in known.pauses.items()}


def _known(model: Path, library: ModelLibrary) -> Model | None:
    return next(
        (each for each in library.known.values() if library.folder(each.name) == model), None
    )


class _Proof(BaseModel):
    window_s: float = Field(ge=1, le=FULL_S)


def _proved_s(proof: Path) -> float | None:
    """Return the window in a proof; None if there is no usable one."""
    with contextlib.suppress(OSError, ValidationError):
        return _Proof.model_validate_json(proof.read_bytes()).window_s
    return None
