"""`rules`: put rules that operators held for one service into the church's own dictionary."""

from __future__ import annotations

import argparse
import sys
from datetime import UTC, datetime

from pipeline.cli.options import Commands, add_command, add_session, session_of, settings_of
from pipeline.core.errors import DictionaryError
from pipeline.dictionary.store import Dictionary
from pipeline.records.events import RuleEvent, held_rules
from pipeline.session.reader import Session

_SAYS = "List rules that operators added in a service, or keep them for all services."


def add(commands: Commands) -> None:
    parser = add_command(commands, "rules", _rules, _SAYS)
    add_session(parser)
    accept = "write them into the church's files: all, or those that write one of these words"
    parser.add_argument("--accept", nargs="*", metavar="WORD", help=accept)


def _rules(arguments: argparse.Namespace) -> int:
    folder = session_of(arguments)
    held = held_rules(Session(folder).records)
    if not held:
        print(f"{folder.name}: no rule was held.", file=sys.stderr)
        return 0
    # None: no --accept, which differs from --accept without words.
    if arguments.accept is None:
        for rule in held:
            print(_line(rule))
        again = f"stark-translate rules {folder.name} --accept"
        print(f"For every service to come: {again}", file=sys.stderr)
        return 0
    # Empty for --accept without a word: then all are accepted.
    wanted = {word.casefold() for word in arguments.accept}
    dictionary = Dictionary(settings_of(arguments).settings)
    for rule in held:
        if not wanted or rule.write.casefold() in wanted:
            print(f"{_line(rule)}: {_accept(dictionary, rule)}")
    return 0


def _line(rule: RuleEvent) -> str:
    return f"{rule.heard} → {rule.write}{f' ({rule.lang})' if rule.lang else ''}"


def _accept(dictionary: Dictionary, rule: RuleEvent) -> str:
    glossaries = dictionary.glossaries
    own = glossaries.own(rule.lang) if rule.lang else dictionary.own
    try:
        if rule.lang:
            glossaries.add(rule.lang, rule.heard, rule.write, datetime.now(UTC))
        else:
            dictionary.add(rule.heard, rule.write, datetime.now(UTC))
    except DictionaryError as error:
        # Accepted before, or written by hand: the other rules are still accepted.
        if error.code != "dictionary-duplicate-phrase":
            raise
        return f"{own} has a rule for it already."
    return f"now in {own}."
