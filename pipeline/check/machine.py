"""Check the machine: its GPU, the systemd timers, the fonts."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

from pipeline.check.result import Check, Passed
from pipeline.config.schema import Settings
from pipeline.core.languages import LANGUAGES
from pipeline.tuning.hardware import gpus, machine
from pipeline.tuning.plan import Gpu, judge_gpu

_UNIT = "stark-translate"
_TIMERS = ("start", "stop", "learn", "train")
_PROPERTIES = "Id,LoadState,ActiveState,UnitFileState,Result,NextElapseUSecRealtime"
_ASK_S = 5.0
Unit = Mapping[str, str]
"""Properties of a unit, as systemctl prints them."""
_EVERYWHERE = frozenset({"LATIN", "GREEK", "CYRILLIC"})
"""Scripts that every font covers."""
_LIST_S = 5.0


def machine_checks(settings: Settings) -> list[Check]:
    """Return a check of the GPUs and one of the timers, each only if there are any."""
    checks = []
    if found := gpus():
        checks.append(Check("gpu", "Looking at the GPU", partial(_gpu, settings, found)))
    if units := _units():
        checks.append(Check("timers", "Looking at the timers", partial(judge_timers, units)))
    return checks


def _gpu(settings: Settings, found: Sequence[Gpu]) -> Passed:
    names = ", ".join(dict.fromkeys(gpu.name for gpu in found))
    if users := uses_of_gpu(settings):
        return Passed(f"{names}: for {' and '.join(users)}.")
    # Only here: `machine` takes a second to measure the load.
    wrong = judge_gpu(machine())
    message = " ".join((f"{names} is there, and no engine uses it.", *(v.message for v in wrong)))
    mend = [verdict.fix for verdict in wrong]
    # `tune` measures first: it does not take a setting that is slower or less accurate.
    measure = "`stark-translate tune` measures what it brings and writes the settings."
    return Passed(message, " ".join((*mend, measure)), "gpu-unused")


def uses_of_gpu(settings: Settings) -> list[str]:
    """Return the local engines that are set to use a GPU."""
    users = []
    # "auto" as well: it uses a GPU if there is one.
    if settings.stt.device != "cpu":
        users.append("the recognizer")
    every = [each.translate.final for each in settings.for_each_target()]
    if any(final.engine == "gemma" and final.gpu_layers for final in every):
        users.append("the final translator")
    return users


def _units() -> list[Unit]:
    systemctl = shutil.which("systemctl")
    # As systemd's sd_booted() does: containers may have systemctl without a running systemd.
    if systemctl is None or not Path("/run/systemd/system").is_dir():
        return []
    names = [f"{_UNIT}-{name}.timer" for name in _TIMERS]
    # Without `start`: its timer starts the main service itself.
    names += [f"{_UNIT}-{name}.service" for name in _TIMERS[1:]]
    try:
        asked = subprocess.run(  # noqa: S603 - our own arguments
            # systemctl also reports units that do not exist; `parse_units` leaves them out.
            [systemctl, "show", *names, f"--property={_PROPERTIES}"],
            capture_output=True,
            text=True,
            check=False,
            timeout=_ASK_S,
        )
    except (OSError, subprocess.TimeoutExpired):
        return []
    return parse_units(asked.stdout)


def parse_units(shown: str) -> list[Unit]:
    """Return the loaded units from the output of `systemctl show`."""
    units: list[Unit] = []
    for block in shown.split("\n\n"):
        unit = dict(line.split("=", 1) for line in block.splitlines() if "=" in line)
        # A unit that is not installed has the state "not-found".
        if unit.get("LoadState") == "loaded":
            units.append(unit)
    return units


def judge_timers(units: Sequence[Unit]) -> Passed:
    """Report the next runs of the timers, and what prevents one. It never fails."""
    by_name = {unit["Id"].removeprefix(f"{_UNIT}-"): unit for unit in units}
    on = [
        name
        for name in _TIMERS
        if by_name.get(f"{name}.timer", {}).get("UnitFileState") == "enabled"
    ]
    said = [
        f"{name} {by_name[f'{name}.timer'].get('NextElapseUSecRealtime') or 'never'}" for name in on
    ]
    message = f"Next: {', '.join(said)}." if on else "No timer is on."
    for name in on:
        if by_name[f"{name}.timer"].get("ActiveState") != "active":
            fix = f"systemctl start {_UNIT}-{name}.timer"
            return Passed(f"{message} The timer {name} does not run.", fix, "timer-off")
    # Captions that a timer starts but none stops fill the disk; with only a stop none start.
    if ("start" in on) != ("stop" in on):
        other = "stop" if "start" in on else "start"
        fix = f"systemctl enable --now {_UNIT}-{other}.timer"
        return Passed(f"{message} The timer {other} is off.", fix, "timer-off")
    for name in on:
        # `show` also reports "success" for a service that has never run.
        result = by_name.get(f"{name}.service", {}).get("Result", "success")
        if result != "success":
            message = f"{message} The last run of {name} failed: {result}."
            return Passed(message, f"journalctl -u {_UNIT}-{name} says why.", "timer-failed")
    return Passed(message)


def font_checks(settings: Settings) -> tuple[Check, ...]:
    """Return the check of fonts; none if no language needs it, or if `fc-list` is missing.

    Windows and macOS have the fonts but no `fc-list`; a server without a screen has neither.
    """
    translate = settings.translate
    # These include every spoken language, since it is a caption language too.
    langs = (translate.source, translate.target, *(each.lang for each in translate.targets))
    needed = tuple(
        lang for lang in langs if lang in LANGUAGES and not LANGUAGES[lang].script <= _EVERYWHERE
    )
    if not needed or shutil.which("fc-list") is None:
        return ()
    return (Check("fonts", "Looking for type", partial(_fonts, needed)),)


def _fonts(langs: Sequence[str]) -> Passed:
    """Report whether each language has a font. It never fails: phones have their own fonts."""
    # Queried by language, since fontconfig knows which characters each one needs.
    missing = [lang for lang in langs if not _has_letters(lang)]
    if not missing:
        return Passed(f"There is type for {_named(langs)}.")
    # Noto's fonts for Chinese, Japanese and Korean are a separate package.
    packages = {"cjk" if "CJK" in LANGUAGES[lang].script else "core" for lang in missing}
    install = " ".join(f"fonts-noto-{each}" for each in sorted(packages))
    return Passed(
        f"No type for {_named(missing)}: a browser on this machine shows boxes.",
        f"If it shows the projector's page or the overlay: sudo apt install {install}",
        "fonts-missing",
    )


def _has_letters(lang: str) -> bool:
    """Whether fontconfig knows a font for a language; True if it does not answer."""
    asked = ["fc-list", f":lang={lang}", "family"]
    try:
        done = subprocess.run(asked, capture_output=True, timeout=_LIST_S, check=True)  # noqa: S603
    except (OSError, subprocess.SubprocessError):
        return True
    return bool(done.stdout.strip())


def _named(langs: Sequence[str]) -> str:
    return ", ".join(LANGUAGES[lang].name for lang in langs)
