"""The commands and settings that the documents print."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from string import Template

from tests.support.paths import ROOT

_STARTS = {"stark-translate", "python", "pip", "make"}
_SPAN = re.compile(r"(?<!`)`([^`\n]+(?:\n[^`\n]+)?)`(?!`)")
_SETTING = re.compile(r"[A-Z_]+=\S*$")


@dataclass(frozen=True)
class Printed:
    """A command as a document prints it."""

    where: str
    """File and line."""
    words: tuple[str, ...]
    """Without `.venv/bin/`, environment variables, and `sudo` with its user."""
    in_block: bool
    """False in a sentence, which may omit a command's required arguments."""

    own_pip: bool
    """Whether it is the `pip` of our own environment."""

    @property
    def text(self) -> str:
        return shlex.join(self.words)


def documents() -> list[Path]:
    """Return the documents for the program's users."""
    found = [*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), *ROOT.glob("docs/decisions/*.md")]
    found += [ROOT / name / "README.md" for name in ("demo", "training", "verses")]
    found += [ROOT / "models/starter/MODEL_CARD.md", ROOT / "config.toml"]
    # Two of them describe the past, not the present.
    return sorted(each for each in found if each.name not in {"CHANGELOG.md", "TRIAL.md"})


def blocks(text: str) -> Iterator[tuple[int, list[str]]]:
    """Yield a document's code blocks, each with the number of its first line."""
    block: list[str] = []
    fenced = False
    for number, line in enumerate([*text.splitlines(), ""], 1):
        fence = line.lstrip().startswith("```")
        fenced ^= fence
        if not fence and (fenced or re.match(r" {4,}\S", line)):
            block.append(line)
        elif block and (fence or line.strip()):
            yield number - len(block), [each[_indent(block) :] for each in block]
            block = []
        elif block:
            block.append("")
    if block:
        yield number - len(block), [each[_indent(block) :] for each in block]


def _indent(lines: list[str]) -> int:
    return min(len(line) - len(line.lstrip()) for line in lines if line)


def commands() -> list[Printed]:
    """Return every command in a code block or code span, each text once."""
    found: dict[str, Printed] = {}
    for path in documents():
        text = path.read_text("utf-8")
        name = str(path.relative_to(ROOT))
        if path.suffix == ".md":
            for first, lines in blocks(text):
                whole = "\n".join(lines).replace("\\\n", " " * 2)
                for offset, line in enumerate(_expanded(whole.split("\n"))):
                    _add(found, f"{name}:{first + offset}", line, in_block=True)
        else:
            text = re.sub(r"\n# *", " ", text)  # a comment's sentence continues in the next line
        for span in _SPAN.finditer(text):
            number = text.count("\n", 0, span.start()) + 1
            _add(found, f"{name}:{number}", span[1].replace("\n", " "), in_block=False)
    return list(found.values())


def _expanded(lines: Iterable[str]) -> Iterator[str]:
    """Yield lines; expand the variables that earlier lines set, as a shell does."""
    values: dict[str, str] = {}
    for line in lines:
        expanded = Template(line).safe_substitute(values)
        if re.match(r"[A-Z]+=", line):
            values |= {
                name: value
                for name, _, value in (word.partition("=") for word in shlex.split(expanded))
            }
        yield expanded


def _add(found: dict[str, Printed], where: str, line: str, *, in_block: bool) -> None:
    try:
        words = shlex.split(line, comments=True)
    except ValueError:  # prose with an apostrophe
        return
    while words and _SETTING.match(words[0]):
        words.pop(0)
    if not words:
        return
    if words[0] == "sudo":
        words = words[3:] if words[1:2] == ["-u"] else words[1:]
    if not words:
        return
    own = words[0].startswith((".venv/bin/", "/opt/stark-translate/venv/bin/"))
    words[0] = re.sub(r"^(\.venv/bin/|/opt/stark-translate/venv/bin/)", "", words[0])
    if words[0] in _STARTS and len(words) > 1:
        printed = Printed(where, tuple(words), in_block, own)
        found.setdefault(printed.text, printed)
