"""`glossary`: show how church words are translated, and try it on a sentence."""

from __future__ import annotations

import argparse

from rich.table import Table

from pipeline.cli.console import Console
from pipeline.cli.options import Commands, add_command, add_group, settings_of
from pipeline.config.schema import Settings
from pipeline.core import logs
from pipeline.core.errors import UsageError
from pipeline.core.terms import WantedTerm
from pipeline.core.types import Translation
from pipeline.dictionary.glossary import Glossary, shown
from pipeline.dictionary.rules import key
from pipeline.dictionary.store import Dictionary
from pipeline.engines.process.factory import final_translator, partial_translator
from pipeline.engines.protocols import TranslationRequest

_SAYS = "Show how church words are said in the caption language, and try it."
_EPILOG = """\
examples:
  stark-translate glossary list                           all entries
  stark-translate glossary list covenant                  those with a word, in either language
  stark-translate glossary try "The covenant of grace."   a sentence without it and with it

How to add your own: docs/GLOSSARY.md.
"""


def add(commands: Commands) -> None:
    whats = add_group(commands, "glossary", _SAYS, _EPILOG, "what")
    listing = add_command(whats, "list", _list, "List the entries, the church's own marked.")
    listing.add_argument("word", nargs="?", default="", help="list only entries with this word")
    trying = add_command(whats, "try", _try, "Translate a sentence without the glossary and with.")
    trying.add_argument("text", help="a sentence in the spoken language, in quotes")


def _list(arguments: argparse.Namespace) -> int:
    settings = settings_of(arguments).settings
    glossary, own = _glossary(settings)
    # Without a word it is "", which every entry contains.
    asked = key(arguments.word)
    table = Table(box=None, pad_edge=False)
    for heading in ("said", "shown", "right as well", "from"):
        table.add_column(heading)
    terms = [
        term
        for term in glossary.terms
        if asked in key(" ".join((*term.say, *term.write, *term.also, *term.plural)))
    ]
    for term in terms:
        place = "the church" if term.source == own else "the program"
        # An entry of exceptions has a hundred phrases.
        said = [phrase for phrase in term.say if asked in key(phrase)] or term.say
        table.add_row(", ".join(said), ", ".join(term.write), ", ".join(term.also), place)
    Console(soft_wrap=True).print(table)
    pair = f"{settings.translate.source} to {settings.translate.target}"
    print(f"\n{len(terms)} of {len(glossary.terms)} entries, {pair}. The church's own file: {own}")
    return 0


def _try(arguments: argparse.Namespace) -> int:
    settings = settings_of(arguments).settings
    # The user did not ask for the log of engines while they load.
    logs.configure("warning", settings.log.format)
    glossary, _ = _glossary(settings)
    text = " ".join(arguments.text.split())
    wanted = glossary.find(text)
    if not wanted:
        print("No word of the glossary is in it.")
        return 0
    for translator in filter(None, (partial_translator(settings), final_translator(settings))):
        translator.load()
        without = translator.translate(text)
        # The same text twice: only the effect of the glossary may differ.
        made = translator.translate(text, TranslationRequest(wanted=wanted))
        print(f"{translator.name}, without: {without.text}")
        print(f"{translator.name}, with:    {made.text}")
        for term in wanted:
            print(f"  {text[term.start : term.end]}: {_outcome(term, made)}")
    return 0


def _outcome(term: WantedTerm, made: Translation) -> str:
    place = shown(made.text, term)
    repair = next((each for each in made.repairs if each.term == term.term), None)
    if place is None:
        wish = f" ({term.forms[0]})" if term.forms else ""
        return f"missing{wish}: nobody knows where it belongs, or the translator objected"
    if repair is not None:
        return f"“{repair.written}” was put in for “{repair.found}”"
    return f"“{made.text[slice(*place)]}” was there by itself"


def _glossary(settings: Settings) -> tuple[Glossary, str]:
    """Return the glossary in force, and where the church's own file is. Raises StarkError."""
    if not settings.church.glossary:
        message = "The glossary is switched off."
        raise UsageError("dictionary-off", message, "Set church.glossary = true.")
    glossaries = Dictionary(settings).glossaries
    return glossaries.of(settings.translate.target), str(glossaries.own(settings.translate.target))
