"""A writer of SWORD modules that follows the published layout, not our reader."""

from __future__ import annotations

import struct
import zipfile
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from pipeline.church.scripture.books import VERSES
from pipeline.church.scripture.editions import VerseId

FORMATS = {"rawtext": "<IH", "rawtext4": "<II", "ztext": "<IIH", "ztext4": "<III"}


@dataclass(frozen=True)
class Module:
    """The settings of a module."""

    driver: str = "zText"
    kind: str = "b"
    markup: str = "OSIS"
    encoding: str = "UTF-8"
    more: str = "Versification=KJV\n"

    def conf(self) -> str:
        return (
            f"# made by a test\n[Mine]\nDataPath=./modules/texts/{self.driver.lower()}/mine/\n"
            f"ModDrv={self.driver}\nSourceType={self.markup}\nEncoding={self.encoding}\n"
            f"CompressType=ZIP\nLang=es\n{self.more}"
        )

    def write(self, root: Path, verses: Mapping[VerseId, str]) -> Path:
        """Write the module as a folder; return the path of its texts."""
        (root / "mods.d").mkdir(parents=True)
        (root / "mods.d" / "mine.conf").write_text(self.conf(), encoding="utf-8")
        folder = root / "modules" / "texts" / self.driver.lower() / "mine"
        folder.mkdir(parents=True)
        codec = "utf-8" if self.encoding == "UTF-8" else "cp1252"
        for name, books in (("ot", range(1, 40)), ("nt", range(40, 67))):
            self._testament(folder, name, books, {k: t.encode(codec) for k, t in verses.items()})
        return folder

    def _testament(
        self, folder: Path, name: str, books: range, verses: Mapping[VerseId, bytes]
    ) -> None:
        entry = struct.Struct(FORMATS[self.driver.lower()])
        is_raw = self.driver.startswith("Raw")
        nothing = bytes(entry.size)
        index, starts, data = bytearray(nothing * 2), bytearray(), bytearray()
        block = bytearray()

        def close() -> None:
            if block and not is_raw:
                packed = zlib.compress(bytes(block))
                starts.extend(struct.pack("<III", len(data), len(packed), len(block)))
                data.extend(packed)
                block.clear()

        has_text = {(book, chapter) for book, chapter, _ in verses}
        for book in books:
            index += nothing
            for chapter, count in enumerate(VERSES[book - 1], 1):
                index += nothing
                # Most test modules have a verse or two; the index has an entry for each of 31,000.
                if (book, chapter) not in has_text:
                    empty = entry.pack(*(() if is_raw else (len(starts) // 12,)), 0, 0)
                    index += empty * count
                    if self.kind == "c":
                        close()
                    continue
                for verse in range(1, count + 1):
                    text = verses.get((book, chapter, verse), b"")
                    place = (len(block), len(text)) if text else (0, 0)
                    index += entry.pack(*(() if is_raw else (len(starts) // 12,)), *place)
                    block += text
                    if self.kind == "v":
                        close()
                if self.kind == "c":
                    close()
            close()
        if is_raw:
            (folder / name).write_bytes(block)
            (folder / f"{name}.vss").write_bytes(index)
        else:
            for ending, content in (("v", index), ("s", starts), ("z", data)):
                (folder / f"{name}.{self.kind}z{ending}").write_bytes(content)


def zipped(root: Path) -> Path:
    """Return a zip archive of a folder, the form in which modules are distributed."""
    file = root.with_suffix(".zip")
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for each in sorted(root.rglob("*")):
            archive.write(each, each.relative_to(root))
    return file
