"""The parser of the command line, which says what was probably meant."""

from __future__ import annotations

import argparse
import re
from collections.abc import Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import NoReturn

_FIRST = "`stark-translate --help` lists them; `stark-translate demo` is the one to begin with."


class Parser(argparse.ArgumentParser):
    """An ArgumentParser whose refusals name the nearest command, choice or option."""

    def error(self, message: str) -> NoReturn:
        """Print usage and message, and exit with code 2."""
        super().error(f"{message}{_hint(message, self.format_help())}")

    def parse_args(  # type: ignore[override]
        self, args: Sequence[str] | None = None, namespace: None = None
    ) -> argparse.Namespace:
        """Parse; what is unknown is refused by the parser of the command that it was given to."""
        # By itself the top parser would refuse it, which knows no options of the command.
        found, unknown = self.parse_known_args(args, namespace)
        if unknown:
            getattr(found, "parser", self).error(f"unrecognized arguments: {' '.join(unknown)}")
        return found


def _hint(message: str, help_text: str) -> str:
    """Return the end of a refusal: what was probably meant, or nothing."""
    # By argparse's words: it tells in no other way what was wrong.
    if wrong := re.search(r"invalid choice: '([^']*)' \(choose from (.*)\)", message):
        word, known = wrong[1], re.findall(r"[\w.-]+", wrong[2])
    elif wrong := re.search(r"unrecognized arguments: .*?(--[\w-]+)", message):
        word, known = wrong[1], sorted(set(re.findall(r"--[\w-]+", help_text)))
    elif (wrong := re.search(r"unrecognized arguments: (\S+)$", message)) and Path(wrong[1]).suffix:
        return f"\nDid you mean --input {wrong[1]}?" if "--input" in help_text else ""
    elif "are required: command" in message:
        return f"\n{_FIRST}"
    else:
        return ""
    near = get_close_matches(word, known, n=1, cutoff=0.6)
    return f"\nDid you mean {near[0]}?" if near else ""
