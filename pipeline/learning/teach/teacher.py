"""Who teaches in a distillation: the final translator of the settings, here or on a server."""

from __future__ import annotations

from dataclasses import dataclass

from pipeline.config.loader import Loaded, load
from pipeline.config.schema import Settings
from pipeline.core.errors import LearningError
from pipeline.engines.ctranslate2.marian import Marian
from pipeline.engines.process.factory import final_translator
from pipeline.engines.protocols import Translator
from pipeline.learning.compare import weights_of
from pipeline.learning.manifest import sha256
from pipeline.learning.teach.teaching import BEAM
from pipeline.models.automatic import translator_name
from pipeline.models.library import ModelLibrary
from pipeline.models.registry import CaptionRole
from pipeline.models.resolve import resolve

_DEADLINE_S = 300.0
"""A teacher may take its time: a passage of five verses from a large model on a CPU."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Teacher:
    """A translator that was chosen and not yet loaded."""

    engine: str
    """As in translate.final.engine."""
    model: str
    id: str
    """By which an interrupted teaching knows it again: the SHA-256 of its weights. Of a server's
    model only the name is known, and not the address, so that another machine may go on."""
    settings: Settings
    """In which it is the final translator."""

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

    Another model than that of the settings is asked as it wants to be, where no flag says how.
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
        flags = {"translate.final.prompt": "auto"} | flags
    settings = load(loaded.file, flags).settings
    if final.engine == "openai":
        known = f"openai:{name}"
    else:
        known = sha256(weights_of(resolve(role, name, ModelLibrary.of(settings))))
    if (prompt := settings.translate.final.prompt) != "auto":
        known = f"{known} {prompt}"  # asked in another way it says other things
    return Teacher(engine=final.engine, model=name, id=known, settings=settings)
