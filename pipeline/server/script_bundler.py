"""A page's script with the modules that it imports, as one file.

Displays are written as small ES modules, and each can be fetched as it is. But a browser fetches
six files at a time, and the server closes the connection after each (`pages.py`), so on a slow
phone a page of twelve modules shows its first caption almost half a second later than one that
comes in one piece.

Each module becomes a function that returns what it exports. Only what our modules use is
understood: `import { a, b as c } from "./x.js";` (or `"../folder/x.js"`) at the start of a line,
`import("./x.js")` for what is fetched later, and `export` before a function, a class or a const.

A module's name is its path below `displays/js` without `.js`, such as `shared/captions`.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Mapping

_PATH = r'"(\.\.?/[\w./]+)\.js"'
_IMPORT = re.compile(rf"^import \{{([^}}]+)\}} from {_PATH};$", re.MULTILINE)
_LATER = re.compile(rf"\bimport\({_PATH}\)")
_EXPORT = re.compile(r"^export (?=(?:async function|function|class|const) (\w+))", re.MULTILINE)
_OTHER = re.compile(r"^(?:import\b(?!\()|export\b).*", re.MULTILINE)


class JoinError(ValueError):
    """A module that cannot be joined; the message says which and why."""


def entries(html: str) -> list[str]:
    """Return the names of the modules that a page starts with."""
    return re.findall(r'<script type="module" src="/js/([\w/]+)\.js"', html)


def join(name: str, sources: Mapping[str, str]) -> str:
    """Return module `name` with all that it imports before it. `sources` maps name to text.

    Raises JoinError.
    """
    functions: dict[str, str] = {}
    body, _ = _translate(name, sources, functions, ())
    return "".join(functions.values()) + body


def _translate(
    name: str, sources: Mapping[str, str], functions: dict[str, str], importers: tuple[str, ...]
) -> tuple[str, list[str]]:
    """Return a module's body and what it exports; put those that it imports into `functions`."""
    if name in importers:
        raise JoinError(f"{' imports '.join([*importers, name])}: a circle.")
    if name not in sources:
        raise JoinError(
            f"{importers[-1] if importers else 'A page'} imports {name}.js: no such file."
        )
    entry = importers[0] if importers else name

    def take(match: re.Match[str]) -> str:
        wanted, other = match[1], _resolve(name, match[2])
        variable = f"${other.replace('/', '$')}"
        if other not in functions:
            inner, exports = _translate(other, sources, functions, (*importers, name))
            functions[other] = (
                f"const {variable} = (() => {{\n{inner}\n"
                f"return {{ {', '.join(exports)} }};\n}})();\n"
            )
        return f"const {{{wanted.replace(' as ', ': ')}}} = {variable};"

    # `take` runs as the imports are found, so that modules come before what uses them.
    body = _IMPORT.sub(take, sources[name])
    # The browser looks for it from where the joined file is.
    body = _LATER.sub(lambda match: f'import("{_path(entry, _resolve(name, match[1]))}.js")', body)
    exports: list[str] = _EXPORT.findall(body)
    body = _EXPORT.sub("", body)
    # Better no start than a page that breaks on somebody's phone.
    if other := _OTHER.search(body):
        raise JoinError(f"{name}.js: '{other.group()}' cannot be joined.")
    return body, exports


def _resolve(importer: str, path: str) -> str:
    """Return the name of the module that `importer` calls `path`."""
    return posixpath.normpath(posixpath.join(posixpath.dirname(importer), path))


def _path(importer: str, name: str) -> str:
    """Return what `importer` has to call the module `name`: the reverse of `_resolve`."""
    path = posixpath.relpath(name, posixpath.dirname(importer) or ".")
    return path if path.startswith("../") else f"./{path}"
