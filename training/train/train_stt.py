"""Trains the starter speech model on the shards of synthesize.py.

    python -m training.train.train_stt --speech speech/ --check check/ --out run/ \\
        --minutes 90 --init models/starter/stt

With --init, training continues from a CTranslate2 Whisper directory. Without, it starts from random
weights, with a new tokenizer and short utterances first. The rate depends on the elapsed time: it
rises, then falls to almost zero at --minutes. Every few minutes `run/checkpoint.pt` is replaced;
--resume continues from it.
"""

from __future__ import annotations

import argparse
import json
import random
import signal
import time
from pathlib import Path

import torch
from tqdm import tqdm

from training.models.stt_context import Contexts
from training.models.stt_model import load_tokenizer, train_tokenizer
from training.train.stt_data import Clip, Shards, batches, collate, noise_clips
from training.train.stt_run import Run, quick_check
from training.train.training import MINUTES


def report(run: Run, clips: list[Clip], noise: list[Clip], log: Path) -> None:
    """Check the averaged model and append a line to the log."""
    wer, in_noise, in_speech, pairs = quick_check(
        run.average, run.tokenizer, clips, noise, run.device
    )
    line = {
        "minutes": round(run.elapsed_s / 60, 1),
        "steps": run.steps,
        "heard_h": round(run.heard_s / 3600, 1),
        "wer": round(wer, 4),
        "no_speech_in_noise": round(in_noise, 3),
        "no_speech_in_speech": round(in_speech, 4),
    }
    with log.open("a") as file:
        file.write(json.dumps(line) + "\n")
    tqdm.write(json.dumps(line))
    for expected, heard in pairs[:: max(1, len(pairs) // 3)]:
        tqdm.write(f"  = {expected}\n  > {heard}")


def train(run: Run, shards: Shards, held_out: list[Clip], options: argparse.Namespace) -> None:
    """Train until SIGTERM, or until --minutes have passed, counted over all resumed parts."""
    total_s = options.minutes * 60
    noise = noise_clips(500, options.seed)
    quiet = noise_clips(40, options.seed + 1)
    contexts = Contexts((clip.text for clip in shards.clips), options.hotwords)
    log = options.out / "check.jsonl"
    began, save_at = time.monotonic() - run.elapsed_s, run.elapsed_s + 120
    check_at = run.elapsed_s + (options.check_minutes * 60 if options.resume else 0)
    stop: list[int] = []
    signal.signal(signal.SIGTERM, lambda number, _: stop.append(number))
    with tqdm(total=round(total_s), initial=round(run.elapsed_s), unit="s", mininterval=20) as bar:
        while run.elapsed_s < total_s and not stop:
            draw = random.Random(f"{options.seed}/{run.steps}")
            torch.manual_seed(options.seed + run.steps)
            shards.rescan()
            progress = run.elapsed_s / total_s
            longest = 400 if not options.init and progress < 0.15 else 3000
            clips = shards.draw(draw, longest)
            for group, window in batches(clips, noise, options.batch_frames, progress, draw):
                if run.elapsed_s >= check_at:
                    report(run, held_out, quiet, log)
                    check_at += options.check_minutes * 60
                batch = collate(group, window, run.tokenizer, contexts, draw)
                progress = run.elapsed_s / total_s
                attention, ctc = run.step(batch, options.peak, progress, options.ctc)
                run.heard_s += sum(len(clip.features) for clip in group) / 100
                run.elapsed_s = time.monotonic() - began
                bar.update(min(round(run.elapsed_s), round(total_s)) - bar.n)
                bar.set_postfix_str(
                    f"step {run.steps} loss {attention:.3f} ctc {ctc:.2f}"
                    f" {run.heard_s / 3600:.1f} h of {len(shards.clips)} clips", refresh=False,
                )  # fmt: skip
                if run.elapsed_s >= save_at:
                    run.save(options.out / "checkpoint.pt")
                    save_at = run.elapsed_s + options.save_minutes * 60
                if run.elapsed_s >= total_s or stop:
                    break
    run.save(options.out / "checkpoint.pt")
    if not stop:
        report(run, held_out, quiet, log)


def main() -> None:
    """Train from the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument(
        "--speech", type=Path, required=True, help="shards to train on, may still grow"
    )
    parser.add_argument("--check", type=Path, required=True, help="shards of held-out sentences")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--init", type=Path, help="CTranslate2 Whisper directory to go on from")
    parser.add_argument("--resume", action="store_true", help="go on from OUT/checkpoint.pt")
    parser.add_argument("--hotwords", default="", help="list of words that is often the context")
    parser.add_argument("--minutes", type=MINUTES, default=90)
    parser.add_argument("--peak", type=float, default=1e-3, help="rate; from nothing take 1.5e-3")
    parser.add_argument(
        "--ctc", type=float, default=0.3, help="weight of the CTC loss; from nothing 0.5"
    )
    parser.add_argument("--batch-frames", type=int, default=6000, help="padded frames in a batch")
    parser.add_argument("--check-minutes", type=MINUTES, default=10)
    parser.add_argument("--save-minutes", type=MINUTES, default=5)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--device", default="cpu", help="cpu or cuda")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    torch.manual_seed(options.seed)
    options.out.mkdir(parents=True, exist_ok=True)
    shards, check = Shards(options.speech), Shards(options.check)
    if not shards.rescan() or not check.rescan():
        raise SystemExit(
            f"no-speech: {options.speech} or {options.check} has no shards; run synthesize.py"
        )
    if options.init:
        tokenizer = load_tokenizer(options.init)
    elif options.resume:
        tokenizer = load_tokenizer(options.out)
    else:
        tokenizer = train_tokenizer(" " + clip.text for clip in shards.clips)
    tokenizer.save(str(options.out / "tokenizer.json"))
    run = Run(options.init, tokenizer, options.device)
    if options.resume:
        run.load(options.out / "checkpoint.pt")
    train(run, shards, check.clips, options)


if __name__ == "__main__":
    main()
