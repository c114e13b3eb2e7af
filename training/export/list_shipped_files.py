"""Write down size and hash of every file of the models that ship, for the program to compare with.

    python -m training.export.list_shipped_files

Run it whenever a file below models/starter or models/tiny has been made anew.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from pydantic import TypeAdapter

from pipeline.core.resources import SHIPPED_MODELS
from pipeline.models.integrity import FILE_LIST
from pipeline.models.library import StoredFile, digest, nobody
from scripts.support.paths import ROOT


def listed(folder: Path) -> tuple[StoredFile, ...]:
    """Return the files of the models in a folder, by path."""
    files = sorted(file for file in folder.glob("*/*") if file.is_file())
    return tuple(
        StoredFile(
            path=file.relative_to(folder).as_posix(),
            size_bytes=file.stat().st_size,
            sha256=digest(file, "sha256", nobody),
        )
        for file in files
    )


def main() -> None:
    """Write the lists."""
    argparse.ArgumentParser(description=__doc__.splitlines()[0]).parse_args()
    for name in SHIPPED_MODELS:
        folder = ROOT / "models" / name
        content = TypeAdapter(tuple[StoredFile, ...]).dump_json(listed(folder), indent=2)
        (folder / FILE_LIST).write_bytes(content + b"\n")


if __name__ == "__main__":
    main()
