"""Write down size and hash of every starter model's file, for the program to compare with.

    python -m scripts.training.export.list_starter_files

Run it whenever a file below models/starter has been made anew.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from pydantic import TypeAdapter

from pipeline.models.integrity import SHIPPED
from pipeline.models.store import StoredFile, digest, nobody
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
    """Write the list."""
    argparse.ArgumentParser(description="Write the list of the starter models' files.").parse_args()
    folder = ROOT / "models" / "starter"
    content = TypeAdapter(tuple[StoredFile, ...]).dump_json(listed(folder), indent=2)
    (folder / SHIPPED).write_bytes(content + b"\n")


if __name__ == "__main__":
    main()
