"""Has this machine the letters of the languages that are shown? Its browser may be at the wall."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Sequence
from functools import partial

from pipeline.check.result import Check, Passed
from pipeline.config.schema import Settings
from pipeline.core.languages import LANGUAGES

_EVERYWHERE = frozenset({"LATIN", "GREEK", "CYRILLIC"})
"""Scripts that whatever type there is has letters of."""
_LIST_S = 5.0


def font_checks(settings: Settings) -> tuple[Check, ...]:
    """Return the check; none where no language needs one, or where nobody can be asked.

    Windows and macOS have such letters, and no `fc-list`; a server without a screen has neither.
    """
    translate = settings.translate
    langs = (translate.source, translate.target, *(each.lang for each in translate.targets))
    needed = tuple(lang for lang in langs if lang in LANGUAGES and not _is_everywhere(lang))
    if not needed or shutil.which("fc-list") is None:
        return ()
    return (Check("fonts", "Looking for type", partial(_fonts, needed)),)


def _is_everywhere(lang: str) -> bool:
    return LANGUAGES[lang].script <= _EVERYWHERE


def _fonts(langs: Sequence[str]) -> Passed:
    """Say whether there is type for each language; without any nothing is red: phones have it."""
    missing = [lang for lang in langs if not _has_letters(lang)]
    if not missing:
        return Passed(f"There is type for {_named(langs)}.")
    packages = {"cjk" if "CJK" in LANGUAGES[lang].script else "core" for lang in missing}
    install = " ".join(f"fonts-noto-{each}" for each in sorted(packages))
    return Passed(
        f"No type for {_named(missing)}: a browser on this machine shows boxes.",
        f"If it shows the projector's page or the overlay: sudo apt install {install}",
        "fonts-missing",
    )


def _has_letters(lang: str) -> bool:
    """Whether fontconfig knows type for a language; True where it does not answer."""
    asked = ["fc-list", f":lang={lang}", "family"]
    try:
        done = subprocess.run(asked, capture_output=True, timeout=_LIST_S, check=True)  # noqa: S603
    except (OSError, subprocess.SubprocessError):
        return True
    return bool(done.stdout.strip())


def _named(langs: Sequence[str]) -> str:
    return ", ".join(LANGUAGES[lang].name for lang in langs)
