"""Make GGUF files of a TranslateGemma, with your own LoRA fine-tune merged in.

    python -m training.gguf_export.convert_translategemma --base translategemma-4b-it \\
        --adapter my-adapter --out models/my-translategemma
    python -m training.gguf_export.convert_translategemma --base translategemma-4b-it \\
        --levels Q4_K_M --out gguf

There are four steps; a step is skipped if its result from the same base and adapter exists: merge
the adapter into the base (FP16), convert to GGUF with llama.cpp's converter, quantize with
llama.cpp, and check every file. In the check the prompt must give the tokenizer's tokens, the end
of a turn must end an answer, no spoken text may become a control token, and a sentence must be
answered to its end. The F16 file must also compute the logits of the merged model. Needs the train
extra (make train), memory for twice the FP16 weights and disk for four times (4B: 16 and 32 GB).
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import transformers

from pipeline.core.errors import ModelError, UsageError
from pipeline.engines import prompts
from pipeline.engines.llama_cpp.gemma import Gemma
from scripts.support.paths import ROOT
from training.gguf_export import (
    chat_template,
    checkpoint,
    converting,
    merging,
    proof,
    quantizing,
    vocabulary,
)
from training.gguf_export.progress import bar, console, exit_code_of, only_warnings

_SENTENCE = "Grace and peace to you from God our Father."
_MADE_FROM = "made_from.json"
_TEXTS = (_SENTENCE, "¿Cómo estás, Nehemías? — Romans 8:28,  two spaces\nand a line.")
_START, _END = "<start_of_turn>", "<end_of_turn>"
_CONTEXT = 512
_LLAMA_CPP = ROOT / ".venv" / "llama.cpp"


def main(arguments: Sequence[str] | None = None) -> int:
    """Convert as the options say; return the exit code."""
    options = _parser().parse_args(arguments)
    return exit_code_of(lambda: _convert(options))


def _convert(options: argparse.Namespace) -> None:
    levels = quantizing.chosen(options.levels)
    prompts.render("translategemma", "", options.source, options.target)
    converting.check_checkout(options.llama_cpp)
    merging.check_base(options.base)
    folder: Path = options.out
    name = options.name or folder.resolve().name
    merged, f16 = folder / "merged", folder / f"{name}-F16.gguf"
    every = {level: folder / f"{name}-{level}.gguf" for level in quantizing.LEVELS}
    targets = {level: every[level] for level in levels}
    folder.mkdir(parents=True, exist_ok=True)
    _start_anew_if_changed(options, [merged, f16, *every.values()])
    missing = [level for level, path in targets.items() if not path.exists()]
    if missing or (not f16.exists() and not levels):
        _make(options, merged, f16, {level: targets[level] for level in missing})
    for path in targets.values() if levels else [f16]:
        answer = check(path, options.base, options.source, options.target, options.threads)
        print(f"{path}: {path.stat().st_size / 1e9:.2f} GB, checked: {answer!r}")
    console.print(f"{merged} and {f16} are needed for further levels only.", markup=False)


def _make(
    options: argparse.Namespace, merged: Path, f16: Path, targets: Mapping[str, Path]
) -> None:
    """Run all steps from the base to the files that are missing."""
    size = merging.text_bytes(options.base)
    sizes = [quantizing.expected_bytes(size, level) for level in targets]
    sizes += [size] * ((not merged.exists()) + 1) if not f16.exists() else []
    quantizing.require_space(options.out, sum(sizes))
    _compare_prompts(options)
    if not f16.exists():
        if merged.exists():
            console.print(f"there already: {merged}", markup=False)
        else:
            merging.merge(options.base, options.adapter, merged)
        converting.convert(
            merged, f16, options.llama_cpp, size, partial(_prove, merged, options.threads)
        )
    else:
        console.print(f"there already: {f16}", markup=False)
    for level, path in targets.items():
        quantizing.quantize_and_say(f16, path, level, options.threads)


def _compare_prompts(options: argparse.Namespace) -> None:
    """Compare our prompt with the model's own chat template. Raises ModelError (prompt-differs)."""
    try:
        tokenizer = transformers.AutoTokenizer.from_pretrained(options.base, local_files_only=True)
    except (OSError, ValueError, KeyError, TypeError) as error:
        # The parts of the tokenizer that llama.cpp needs are checked separately, in each file.
        console.print(f"the prompt is not compared: {error}", markup=False)
        return
    if not chat_template.check_template(tokenizer, options.source, options.target):
        console.print("the tokenizer has no chat template to compare the prompt with")


def check(path: Path, base: Path, source: str, target: str, threads: int) -> str:
    """Check a GGUF file against the tokenizer in `base`; return its answer to one sentence.

    Raises ModelError: `check-tokens`, `check-end`, `check-answer`.
    """
    runtime = proof.ExactLlama(path, threads, context=64)  # for its tokens alone
    encode = vocabulary.processor(base / "tokenizer.model")
    start, end = encode.piece_to_id(_START), encode.piece_to_id(_END)
    for text in _TEXTS:
        prompt = prompts.render("translategemma", text, source, target)
        made = [
            *runtime.tokenize(prompt.head, special=True),
            *runtime.tokenize(prompt.text, special=False),
            *runtime.tokenize(prompt.tail, special=True),
        ]
        head = encode.encode(prompt.head.removeprefix(_START))
        wanted = [start, *head, *encode.encode(prompt.text), end]
        wanted += [*encode.encode("\n"), start, *encode.encode("model\n")]
        if made != wanted:
            raise ModelError(
                "check-tokens",
                f"{path}: the prompt for {text!r} becomes the tokens {made}, not {wanted}.",
                "Do tokenizer.model and tokenizer_config.json come from the same TranslateGemma?",
            )
    if {start, end} & set(runtime.tokenize(_START + _END, special=False)):
        raise ModelError(
            "check-tokens",
            f"{path}: whoever says {_END} ends the prompt.",
            "tokenizer_config.json must call it special.",
        )
    if not runtime.ends(end):
        raise ModelError(
            "check-end", f"{path}: {_END} does not end an answer.", "Is the tokenizer complete?"
        )
    engine = Gemma(
        path,
        prompt="translategemma",
        source=source,
        target=target,
        threads=threads,
        context=_CONTEXT,
        deadline_s=600.0,
    )
    engine.load()
    answer = engine.translate(_SENTENCE)
    if not answer.text or answer.stopped != "end":
        raise ModelError(
            "check-answer",
            f"{path}: the answer to {_SENTENCE!r} is {answer.text[:80]!r} and does not end by "
            f"itself ({answer.stopped}).",
            "Was the adapter trained on TranslateGemma's prompt, with the end of turn after each "
            "answer?",
        )
    return answer.text


def _prove(merged: Path, threads: int, f16: Path) -> None:
    """Compare an F16 file with the merged model. Raises ModelError."""
    whole = checkpoint.read(merged, None, {})
    words = vocabulary.read(merged / "tokenizer.model", whole.shape.vocabulary, {})
    with bar("computing what the merged model says") as on_prompt:
        wanted = proof.prompts(whole, words, on_prompt)
    off = proof.check_logits(f16, wanted, threads)
    console.print(f"F16: logits {off:.2%} of their spread apart (allowed {proof.TOLERANCE:.0%})")


def _start_anew_if_changed(options: argparse.Namespace, results: list[Path]) -> None:
    """Remove results of another base or adapter; write down the current base and adapter.

    Raises UsageError if there is a result of unknown origin.
    """
    note = options.out / _MADE_FROM
    now = {"base": _fingerprint(options.base), "adapter": _fingerprint(options.adapter)}
    there = [path for path in results if path.exists()]
    if there and not note.is_file():
        raise UsageError(
            "out-unknown",
            f"--out: {there[0]} is there, but no {_MADE_FROM} that says what it was made of.",
            "Give another --out or --name.",
        )
    if there and json.loads(note.read_text(encoding="utf-8")) != now:
        console.print(f"{options.out} was made of another base or adapter: starting anew")
        for path in there:
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    note.write_text(json.dumps(now, indent=1), encoding="utf-8")


def _fingerprint(folder: Path | None) -> dict[str, Any]:
    if folder is None:
        return {}
    files = [path for path in sorted(folder.glob("*")) if path.is_file()]
    stats = {path.name: [path.stat().st_size, path.stat().st_mtime_ns] for path in files}
    return {"folder": str(folder.resolve()), "files": stats}


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("--base", type=Path, required=True, metavar="FOLDER", help="a downloaded TranslateGemma")
    add("--adapter", type=Path, metavar="FOLDER", help="what peft's save_pretrained wrote")
    add("--out", type=Path, required=True, metavar="FOLDER", help="for NAME-LEVEL.gguf")
    add("--name", help="of the files (default the folder's)")
    add("--levels", default=",".join(quantizing.LEVELS), help="besides F16 (default %(default)s)")
    add("--llama-cpp", type=Path, default=_LLAMA_CPP, metavar="FOLDER",
        help="a llama.cpp checkout (default the one that make train fetched)")  # fmt: skip
    add("--source", default="en", metavar="LANG")
    add("--target", default="es", metavar="LANG")
    add("--threads", type=int, default=os.cpu_count() or 1)
    return parser


if __name__ == "__main__":
    only_warnings()
    transformers.logging.set_verbosity_error()
    sys.exit(main())
