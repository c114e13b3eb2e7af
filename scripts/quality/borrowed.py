"""Report which nouns of languages/words a final translator knows by itself, and which it copies.

    python -m scripts.quality.borrowed --lang es               all 6,700: two hours of one core
    python -m scripts.quality.borrowed --lang fr --most 100    some, drawn by chance

Each noun is in two plain sentences, once in English and once in the form the translator gets. Run
it after a training: the nouns that the translator knows by itself may leave the file.
"""

from __future__ import annotations

import random
import re
import sys
import tomllib
from collections.abc import Sequence

from pipeline.core import logs
from pipeline.core.resources import bundled
from pipeline.engines.llama_cpp.gemma import Gemma
from pipeline.models.resolve import resolve
from pipeline.text.words import plain
from scripts.support.command import parser_of, progress, says_errors

SENTENCES = ("I talked about the {} yesterday.", "We need a {} for the church.")
_ELSEWHERE = "de"
"""A spoken language without a table: it gives the same prompt with the English noun."""
_STEM = 5


@says_errors
def main(argv: Sequence[str] | None = None) -> int:
    """Try the nouns and print the result; return the exit code."""
    parser = parser_of(__doc__)
    parser.add_argument(
        "--lang", default="es", metavar="LANG", help="target language (%(default)s)"
    )
    parser.add_argument("--most", type=int, default=0, metavar="N", help="so many (default: all)")
    parser.add_argument("--model", default="starter", help="a final translator (%(default)s)")
    arguments = parser.parse_args(argv)
    logs.configure("error", "auto")  # llama.cpp logs much
    file = bundled("languages", "words", f"en-{arguments.lang}.toml")
    nouns = sorted(tomllib.loads(file.read_text("utf-8"))["nouns"].items())
    if arguments.most:
        nouns = random.Random(1).sample(nouns, min(arguments.most, len(nouns)))
    path = resolve("gemma", arguments.model)
    by_itself = Gemma(path, prompt="starter", source=_ELSEWHERE, target=arguments.lang, threads=1)
    helped = Gemma(path, prompt="starter", target=arguments.lang, threads=1)
    for each in (by_itself, helped):
        each.load()
    known, copied, lost = [], [], []
    for said, written in progress(nouns, "trying"):
        noun = said.removeprefix("the ").partition(",")[0]
        if all(_is_said(by_itself, noun, written)):
            known.append(noun)
        elif all(_is_said(helped, noun, written)):
            copied.append(noun)
        else:
            lost.append(noun)
    print(f"{len(nouns)} nouns: known {len(known)}, copied {len(copied)}, neither {len(lost)}")
    print(f"known: {', '.join(known)}\nneither: {', '.join(lost)}")
    return 0


def _is_said(translator: Gemma, noun: str, written: str) -> list[bool]:
    """Whether each translation has the noun: its longest word, without the ending."""
    stem = max(plain(re.sub(r" [mf]$|^l'", "", written)).split(), key=len)[:_STEM]
    texts = (translator.translate(sentence.format(noun)).text for sentence in SENTENCES)
    return [stem in plain(text) for text in texts]


if __name__ == "__main__":
    sys.exit(main())
