"""SWORD modules, the Bibles of CrossWire's readers and of publishers who write for them.

A module is a description, `mods.d/NAME.conf`, and a folder that it names. In that folder each
testament (`ot`, `nt`) has an index with a record for every verse of the King James numbering, and
its text: one file (RawText), or zlib blocks (zText) for each book, chapter or verse. Each verse is
plain text or a piece of OSIS.

Sources: CrossWire's wiki (DevTools: conf Files, Modules) and mailing list (sword-devel); for the
record formats, the documentation of pysword (module-format.rst).
"""

from __future__ import annotations

import lzma
import struct
import zipfile
import zlib
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from pipeline.church.scripture.books import PRINTED, VERSES
from pipeline.church.scripture.edition_formats import osis_words, tidy
from pipeline.church.scripture.editions import MOST_BYTES, VerseId
from pipeline.core.errors import VersesError

Place = Path | zipfile.Path
"""A folder or file on disk, or in a zip archive."""

_BOOKS = {"ot": range(1, 40), "nt": range(40, 67)}
# Little-endian: block (zText only), start of the verse in it, and its size in bytes.
_RECORDS = {"rawtext": "<IH", "rawtext4": "<II", "ztext": "<IIH", "ztext4": "<III"}
_BLOCK = struct.Struct("<III")  # start in the file, compressed size, unpacked size
# cp1252 is Latin-1 with quotation marks and dashes where Latin-1 has control characters.
_ENCODINGS = {"latin-1": "cp1252", "utf-8": "utf-8"}
_MARKUPS: Mapping[str, Callable[[str], str]] = {"plaintext": str, "osis": osis_words}
_NAMED = {
    "moddrv": "kind of module",
    "versification": "numbering of verses",
    "compresstype": "compression",
    "sourcetype": "markup",
    "encoding": "encoding",
}
_AGAIN = "Get the module again."


@dataclass(frozen=True, slots=True)
class _Module:
    """The content of a description."""

    name: str
    root: Place
    settings: Mapping[str, str]
    """By key, in lower case."""

    def get(self, key: str, default: str) -> str:
        return self.settings.get(key, default) or default


def is_module(file: Path) -> bool:
    """Whether a file or folder can only be a SWORD module: a folder, a `.zip` or a `.conf`."""
    return file.is_dir() or file.suffix.casefold() in (".zip", ".conf")


def read(file: Path) -> dict[VerseId, str]:
    """Return the verses of a module. Raises VersesError.

    `file` is a zip archive or folder with `mods.d` in it, or one of several descriptions in there.
    A verse that is printed under several numbers is returned under the first of them.
    """
    try:
        module = _module(file)
        clean = _MARKUPS[_known(module, "sourcetype", "plaintext", _MARKUPS)]
        encoding = _ENCODINGS[_known(module, "encoding", "latin-1", _ENCODINGS)]
        found = {
            place: tidy(clean(_decoded(module, place, data, encoding)))
            for testament in _BOOKS
            for place, data in _testament(module, testament)
        }
    except (OSError, EOFError, zlib.error, lzma.LZMAError) as error:
        raise VersesError("verses-unreadable", f"{file} cannot be read: {error}.", _AGAIN) from None
    # zipfile raises RuntimeError if a password is needed, or the method is unknown.
    except (zipfile.BadZipFile, RuntimeError) as error:
        message = f"{file} is no zip archive that can be opened: {error}."
        raise VersesError("verses-unreadable", message, "Unpack it and add the folder.") from None
    if not any(found.values()):
        raise VersesError("verses-empty", f"{file} has no verses that could be read.", _AGAIN)
    return {place: words for place, words in found.items() if words}


def _module(file: Path) -> _Module:
    if file.suffix.casefold() == ".conf" and file.is_file():
        # The description is in mods.d, and its paths are relative to the folder above.
        return _described(file, file.parent.parent)
    if file.is_file() and file.stat().st_size > MOST_BYTES:
        raise VersesError("verses-too-large", f"{file} is too large for a Bible.")
    root: Place = file if file.is_dir() else zipfile.Path(file)
    folder = root / "mods.d"
    there: list[Place] = []
    if folder.is_dir():
        there.extend(folder.iterdir())
    descriptions = [each for each in there if each.name.casefold().endswith(".conf")]
    if not descriptions:
        message = f"{file} is no SWORD module: it has no description mods.d/NAME.conf."
        raise VersesError("verses-no-module", message, "Other formats are added file by file.")
    if len(descriptions) > 1:
        names = ", ".join(sorted(each.name for each in descriptions))
        fix = "Name one of these files, unpacked, instead of the folder above."
        raise VersesError("verses-several-modules", f"{file} has several modules: {names}.", fix)
    return _described(descriptions[0], root)


def _described(conf: Place, root: Place) -> _Module:
    """Return the module of a description. Raises VersesError if it is not supported."""
    data = _read(conf)
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = data.decode("cp1252", "replace")
    settings: dict[str, str] = {}
    for line in text.splitlines():
        key, equals, value = line.partition("=")
        if equals and not line.lstrip().startswith("#"):
            # If a key occurs several times, as GlobalOptionFilter does, the first one counts.
            settings.setdefault(key.strip().casefold(), value.strip())
    module = _Module(conf.name, root, settings)
    if "cipherkey" in settings:
        message = f"{conf.name}: the text is enciphered, which is not supported."
        fix = "Ask the publisher for the text as OSIS or USFM, or for a module without a key."
        raise VersesError("verses-enciphered", message, fix)
    _known(module, "moddrv", "none", _RECORDS)
    _known(module, "versification", "kjv", {"kjv"})
    _known(module, "compresstype", "zip", {"zip"})
    return module


def _known(module: _Module, key: str, default: str, known: Collection[str]) -> str:
    """Return a setting in lower case. Raises VersesError if it is not in `known`."""
    value = module.get(key, default)
    if value.casefold() in known:
        return value.casefold()
    message = f"{module.name}: the {_NAMED[key]} {value!r} is not supported."
    fix = f"Known: {', '.join(sorted(known))}. Or add the text as OSIS, USFM or Zefania."
    raise VersesError("verses-other-module", message, fix)


def _testament(module: _Module, testament: str) -> Iterator[tuple[VerseId, bytes]]:
    """Yield the verses that one testament has. Raises VersesError."""
    folder = _folder(module)
    driver = module.get("moddrv", "").casefold()
    if driver.startswith("raw"):
        # A module may have one testament only.
        if not (folder / f"{testament}.vss").is_file():
            return
        index, text = _read(folder / f"{testament}.vss"), _read(folder / testament)
        blocks: Callable[[int], bytes | None] = {0: text}.get
    else:
        kind = next((k for k in "bcv" if (folder / f"{testament}.{k}zv").is_file()), "")
        if not kind:
            return
        index = _read(folder / f"{testament}.{kind}zv")
        blocks = _Blocks(
            _read(folder / f"{testament}.{kind}zs"), _read(folder / f"{testament}.{kind}zz"), module
        ).get
    places = _places(testament)
    record = struct.Struct(_RECORDS[driver])
    # An index with another numbering would put verses in wrong places, without any other sign.
    if len(index) != record.size * len(places):
        message = (
            f"{module.name}: the index of {testament} has {len(index) / record.size:g} entries, "
            f"{len(places)} in the King James numbering."
        )
        raise VersesError("verses-broken-file", message, _AGAIN)
    yield from _cut(module, zip(places, record.iter_unpack(index), strict=True), blocks)


def _cut(
    module: _Module,
    records: Iterator[tuple[VerseId | None, tuple[int, ...]]],
    blocks: Callable[[int], bytes | None],
) -> Iterator[tuple[VerseId, bytes]]:
    total = 0
    last: tuple[int, ...] = ()
    for place, record in records:
        *block, start, size = record
        # Verses that are printed as one repeat the same record.
        if place is None or not size or record == last:
            continue
        last = record
        text = blocks(block[0] if block else 0)
        if text is None or start + size > len(text):
            message = f"{module.name}: {_name(place)} lies outside of the text."
            raise VersesError("verses-broken-file", message, _AGAIN)
        total += size
        # Overlapping records could turn a small file into gigabytes.
        if total > MOST_BYTES:
            raise VersesError("verses-too-large", f"{module.name} is too large for a Bible.")
        yield place, text[start : start + size]


class _Blocks:
    """The compressed blocks of a testament, each unpacked once, on demand."""

    def __init__(self, starts: bytes, data: bytes, module: _Module) -> None:
        # An incomplete entry is dropped: a verse that needs it is refused by name.
        whole = len(starts) // _BLOCK.size * _BLOCK.size
        self._starts = list(_BLOCK.iter_unpack(starts[:whole]))
        self._data = data
        self._module = module
        self._unpacked: dict[int, bytes] = {}
        self._left = MOST_BYTES

    def get(self, number: int) -> bytes | None:
        """Return a block, None if the index has no such number. Raises VersesError."""
        if number >= len(self._starts):
            return None
        if number not in self._unpacked:
            self._unpacked[number] = self._unpack(number)
        return self._unpacked[number]

    def _unpack(self, number: int) -> bytes:
        start, size, _ = self._starts[number]
        unpacker = zlib.decompressobj()
        broken = f"{self._module.name}: block {number} of the text is damaged or cut short."
        try:
            # Limited: a kilobyte can unpack to a megabyte of zeros.
            text = unpacker.decompress(self._data[start : start + size], self._left + 1)
        except zlib.error:
            raise VersesError("verses-broken-file", broken, _AGAIN) from None
        # The limit is for all blocks together: there may be very many small ones.
        self._left -= len(text)
        if self._left < 0:
            raise VersesError("verses-too-large", f"{self._module.name} is too large for a Bible.")
        # zlib unpacks truncated data as far as possible, without an error.
        if not unpacker.eof:
            raise VersesError("verses-broken-file", broken, _AGAIN)
        return text


def _places(testament: str) -> list[VerseId | None]:
    """Return the verse of each record of an index, None for an introduction."""
    found: list[VerseId | None] = [None, None]  # of the module and of the testament
    for book in _BOOKS[testament]:
        found.append(None)
        for chapter, count in enumerate(VERSES[book - 1], 1):
            found.append(None)
            found += [(book, chapter, verse) for verse in range(1, count + 1)]
    return found


def _folder(module: _Module) -> Place:
    """Return the folder of the texts. Raises VersesError if it is outside the module."""
    parts = module.get("datapath", "").replace("\\", "/").split("/")
    named = [part for part in parts if part not in ("", ".")]
    # A colon means a Windows drive.
    if not named or ".." in named or ":" in named[0]:
        message = f"{module.name}: DataPath is missing or leads out of the module."
        raise VersesError("verses-broken-file", message, _AGAIN)
    folder = module.root
    for part in named:
        folder = folder / part
    return folder


def _read(file: Place) -> bytes:
    with file.open("rb") as stream:
        # Limited, because an archive may unpack to gigabytes.
        data: bytes = stream.read(MOST_BYTES + 1)
    if len(data) > MOST_BYTES:
        raise VersesError("verses-too-large", f"{file.name} is too large for a Bible.")
    return data


def _decoded(module: _Module, place: VerseId, data: bytes, encoding: str) -> str:
    try:
        return data.decode(encoding)
    except UnicodeDecodeError:
        message = f"{module.name}: {_name(place)} is not text in the encoding that it names."
        raise VersesError("verses-broken-file", message, _AGAIN) from None


def _name(place: VerseId) -> str:
    book, chapter, verse = place
    return f"{PRINTED['en'][book - 1]} {chapter}:{verse}"
