"""Builds the wheels of this program in `dist`: one file to install, without a checkout.

Run by `make wheel`. The wheel of a system that `wheels/` has llama.cpp for carries it, so that
nothing is compiled; the one for any system names llama-cpp-python as what it needs. All of them
need exactly the versions of requirements.lock, which are those that were tested.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from scripts.support.paths import ROOT
from scripts.wheels.build_llama import write_wheel

PLACE: Final = "pipeline/bundle/packages/"
"""Path in a wheel of the packages that it carries; `pipeline/__init__.py` finds them."""
LLAMA: Final = "llama-cpp-python"
_LOCKED: Final = re.compile(r"^([\w.-]+==\S+(?: ; [^\\\n]*)?)", re.MULTILINE)
_NEEDED: Final = re.compile(r"^Requires-Dist: (?!.*extra ==).*\n", re.MULTILINE)
# License of the code that Zig links into llama.cpp's libraries.
_LICENCE: Final = re.compile(r"^(License-Expression: .*)$", re.MULTILINE)
_LINKED: Final = r"\1 AND Apache-2.0 WITH LLVM-exception"


def main() -> None:
    """Build the wheels and print their names and sizes."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--out", type=Path, default=ROOT / "dist", metavar="DIR")
    words = "only those that have one of these in their name, such as x86_64, aarch64, any"
    parser.add_argument("words", nargs="*", metavar="WORD", help=words)
    options = parser.parse_args()
    into: Path = options.out
    into.mkdir(parents=True, exist_ok=True)
    uv = Path(sys.executable).with_name("uv")
    with tempfile.TemporaryDirectory() as folder:
        command = [str(uv), "build", "--wheel", "--quiet", "--out-dir", folder, str(ROOT)]
        subprocess.run(command, check=True)
        (plain,) = Path(folder).glob("*.whl")
        own = read(plain)
    stem = plain.stem.removesuffix("py3-none-any")
    lock = (ROOT / "requirements.lock").read_text("utf-8")
    for llama in (None, *sorted((ROOT / "wheels").glob("*.whl"))):
        tag = "-".join(llama.stem.split("-")[-3:]) if llama else "py3-none-any"
        if options.words and not any(word in tag for word in options.words):
            continue
        wheel = into / f"{stem}{tag}.whl"
        write_wheel(wheel, composed(own, lock, tag, read(llama) if llama else {}))
        print(f"{wheel}: {wheel.stat().st_size / 1e6:.0f} MB")


def read(wheel: Path) -> dict[str, bytes]:
    """Return the files of a wheel by path, without the list of their hashes."""
    with zipfile.ZipFile(wheel) as archive:
        return {name: archive.read(name) for name in archive.namelist() if "/RECORD" not in name}


def composed(
    own: Mapping[str, bytes], lock: str, tag: str, carried: Mapping[str, bytes]
) -> dict[str, bytes]:
    """Return the files of a wheel that requires the locked versions, except those it carries."""
    (info,) = {name.partition("/")[0] for name in own if ".dist-info/" in name}
    head, gap, description = own[f"{info}/METADATA"].decode().partition("\n\n")
    head = _NEEDED.sub("", f"{head}\n").rstrip()
    if carried:
        head = _LICENCE.sub(_LINKED, head)
    needed = [each for each in _LOCKED.findall(lock) if not (carried and each.startswith(LLAMA))]
    head = "\n".join([head, *(f"Requires-Dist: {each.strip()}" for each in needed)])
    pure = "false" if carried else "true"
    kind = f"Wheel-Version: 1.0\nGenerator: stark-translate\nRoot-Is-Purelib: {pure}\nTag: {tag}\n"
    return {
        **own,
        **{f"{PLACE}{name}": data for name, data in carried.items()},
        f"{info}/METADATA": f"{head}{gap}{description}".encode(),
        f"{info}/WHEEL": kind.encode(),
    }


if __name__ == "__main__":
    main()
