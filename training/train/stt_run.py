"""One training of the speech model: its losses, its step, its checkpoint and its quick check."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import torch
from tokenizers import Tokenizer
from torch import Tensor, nn

from training.evaluate.stt_score import word_error_rate
from training.models.stt_model import (
    CTC_SYMBOLS,
    NO_SPEECH,
    START,
    decode,
    encode,
    greedy,
    load_ct2,
    new_model,
)
from training.train.stt_data import IGNORED, Batch, Clip

WARM_UP = 0.03  # share of the whole time
AVERAGE_EVERY, AVERAGE_KEEP = 10, 0.97  # exported weights are a mean over some 300 steps


def losses(
    model: Any,
    head: nn.Linear,
    batch: Batch,
    ctc_weight: float,
    device: torch.device,
) -> tuple[Tensor, Tensor]:
    """Return the cross entropy of the tokens and the CTC loss of the characters, or zero."""
    targets = batch.targets
    with torch.autocast(device.type, dtype=torch.bfloat16):
        encoded = encode(model, batch.features.to(device))
        logits = decode(model, batch.tokens.to(device), encoded, (targets != IGNORED).to(device))
    attention = nn.functional.cross_entropy(
        logits.float(), targets[targets != IGNORED].to(device), label_smoothing=0.05
    )
    if not ctc_weight:
        return attention, torch.zeros(())
    with torch.autocast(device.type, dtype=torch.bfloat16):
        letters = head(encoded)
    ctc = nn.functional.ctc_loss(
        letters.float().log_softmax(-1).transpose(0, 1), batch.characters,
        (batch.frames // 2).clamp(max=encoded.shape[1]), batch.character_counts,
        reduction="none", zero_infinity=True,
    )  # fmt: skip
    # Noise has no characters: all its frames would have to be blank, which would outweigh the rest.
    ctc = ctc[
        (batch.character_counts > 0).to(ctc.device)
    ].sum() / batch.character_counts.sum().clamp(min=1)
    return attention, ctc


def quick_check(
    model: Any, tokenizer: Tokenizer, clips: list[Clip], noise: list[Clip], device: torch.device
) -> tuple[float, float, float, list[tuple[str, str]]]:
    """Return the WER in the short window, no-speech chances in noise and speech, and the pairs."""
    model.eval()
    pairs, chances = [], []
    with torch.no_grad(), torch.autocast(device.type, dtype=torch.bfloat16):
        for group in (clips[i : i + 12] for i in range(0, len(clips), 12)):
            features = padded(group).to(device)
            heard = [tokenizer.decode(row).strip() for row in greedy(model, features)]
            pairs += [(clip.text, text) for clip, text in zip(group, heard, strict=True)]
        for group in (noise, clips[: len(noise)]):
            encoded = encode(model, padded(group).to(device))
            start = torch.full((len(group), 1), START, device=device)
            chances.append(
                decode(model, start, encoded)[:, 0].float().softmax(-1)[:, NO_SPEECH].mean().item()
            )
    model.train()
    return word_error_rate(pairs), chances[0], chances[1], pairs


def padded(clips: list[Clip]) -> Tensor:
    """Return features (batch, 80, frames) in a window of 10 s, or of the longest clip plus 2 s."""
    window = max(1000, max(len(clip.features) for clip in clips) + 200) // 2 * 2
    features = torch.zeros(len(clips), 80, window)
    for row, clip in zip(features, clips, strict=True):
        row[:, : len(clip.features)] = torch.from_numpy(clip.features.T.astype("float32"))
    return features


def rate(progress: float, peak: float) -> float:
    """Return a rate that rises linearly to the peak in 3 % of the time, then falls to 1 % of it."""
    return (
        peak * min(progress / WARM_UP, max(0.01, (1 - progress) / (1 - WARM_UP)), 1.0) + peak * 1e-3
    )


def optimizers(model: nn.Module, head: nn.Linear) -> list[torch.optim.Optimizer]:
    """Return Muon for the layers' matrices and AdamW for all other parameters.

    A step of Muon (Jordan et al. 2024, kellerjordan.github.io/posts/muon) costs a third more, but
    Muon reached AdamW's loss in half the steps; its updates have the size of AdamW's.
    """
    named = [(name, p) for name, p in model.named_parameters() if p.requires_grad]
    matrices = [p for name, p in named if p.ndim == 2 and ".layers." in name]
    rest = [p for name, p in named if p.ndim != 2 or ".layers." not in name]
    return [
        torch.optim.Muon(matrices, lr=0.0, weight_decay=0.01, adjust_lr_fn="match_rms_adamw"),
        torch.optim.AdamW(
            [*rest, *head.parameters()], lr=0.0, betas=(0.9, 0.98), weight_decay=0.01, fused=True
        ),
    ]


class Run:
    """Model, averaged model, optimizer and clock of a training, as one checkpoint."""

    def __init__(self, init: Path | None, tokenizer: Tokenizer, device: str) -> None:
        self.tokenizer = tokenizer
        self.device = torch.device(device)
        self.model: Any = load_ct2(init) if init else new_model()
        self.model.to(self.device).train()
        self.average = copy.deepcopy(self.model)
        self.head = nn.Linear(self.model.config.d_model, len(CTC_SYMBOLS) + 1).to(self.device)
        self.optimizers = optimizers(self.model, self.head)
        self.steps, self.elapsed_s, self.heard_s = 0, 0.0, 0.0

    def step(
        self, batch: Batch, peak: float, progress: float, ctc_weight: float
    ) -> tuple[float, float]:
        """Take one step at the rate for this progress (0 to 1); return its two losses."""
        groups = [group for one in self.optimizers for group in one.param_groups]
        attention, ctc = losses(self.model, self.head, batch, ctc_weight, self.device)
        (attention + ctc_weight * ctc).backward()
        for group in groups:
            group["lr"] = rate(progress, peak)
            nn.utils.clip_grad_norm_(group["params"], 1.0)
        for one in self.optimizers:
            one.step()
            one.zero_grad(set_to_none=True)
        self.steps += 1
        if self.steps % AVERAGE_EVERY == 0:
            keep = min(AVERAGE_KEEP, self.steps / (self.steps + 20 * AVERAGE_EVERY))
            with torch.no_grad():
                for mean, now in zip(
                    self.average.parameters(), self.model.parameters(), strict=True
                ):
                    mean.lerp_(now, 1 - keep)
        return attention.item(), ctc.item()

    def save(self, path: Path) -> None:
        """Replace the checkpoint atomically."""
        part = path.with_suffix(".part")
        torch.save(
            {
                "model": self.model.state_dict(), "average": self.average.state_dict(),
                "head": self.head.state_dict(),
                "optimizers": [one.state_dict() for one in self.optimizers],
                "steps": self.steps, "elapsed_s": self.elapsed_s, "heard_s": self.heard_s,
            },
            part,
        )  # fmt: skip
        part.rename(path)

    def load(self, path: Path) -> None:
        """Continue from a checkpoint."""
        saved = torch.load(path, map_location=self.device)
        for name in ("model", "average", "head"):
            getattr(self, name).load_state_dict(saved[name])
        for one, state in zip(self.optimizers, saved["optimizers"], strict=True):
            one.load_state_dict(state)
        self.steps, self.elapsed_s, self.heard_s = (
            saved["steps"],
            saved["elapsed_s"],
            saved["heard_s"],
        )
