"""The dictionary in force: the shipped rules and the church's own, reloaded when a file changes."""

from __future__ import annotations

from pathlib import Path

from pipeline.bundled import bundled
from pipeline.config import Settings
from pipeline.corrections import Lexicon, compile_lexicon
from pipeline.errors import DictionaryError
from pipeline.rules import Rule, parse_rules


class Dictionary:
    """Holds the lexicon. Any thread may read `lexicon`; one thread loads."""

    def __init__(self, settings: Settings) -> None:
        """Load the files. Raises DictionaryError."""
        shipped = bundled("dictionary", f"{settings.translate.source}.toml")
        self._files: list[Path] = []
        if settings.dictionary.enabled:
            self._files += [shipped] if shipped.is_file() else []
            self._files += [Path(settings.dictionary.file)] if settings.dictionary.file else []
        self._stamps: list[float] = []
        self.lexicon: Lexicon = compile_lexicon([])
        self.load()

    def load(self) -> None:
        """Read and compile all files anew. Raises DictionaryError and then keeps the old rules."""
        stamps = self._modified()
        rules: list[Rule] = []
        for file in self._files:
            try:
                text = file.read_text(encoding="utf-8")
            except (OSError, UnicodeDecodeError) as error:
                raise DictionaryError(
                    "dictionary-unreadable",
                    f"The dictionary {file} cannot be read: {error}.",
                    "Check dictionary.file in the settings.",
                ) from None
            rules += parse_rules(text, str(file))
        self.lexicon = compile_lexicon(rules)
        self._stamps = stamps

    def changed(self) -> bool:
        """Whether a file is not the one that was loaded. True once per change."""
        stamps = self._modified()
        changed = stamps != self._stamps
        self._stamps = stamps
        return changed

    def _modified(self) -> list[float]:
        return [_modified_s(file) for file in self._files]


def _modified_s(file: Path) -> float:
    """Return when a file was changed, 0.0 if it cannot be looked at: reading it will say why."""
    try:
        return file.stat().st_mtime
    except OSError:
        return 0.0
