"""A streaming transducer that hears tones, in the format of icefall's exports for sherpa-onnx.

No published weights can be fetched in tests. So this one is made of constants: its encoder looks at
one band of the log-mel features for each word of its vocabulary, its decoder forbids the word that
was said last, its joiner adds the two. All else (features, chunks, states, search) is the
library's.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from pipeline.core.types import SAMPLE_RATE, Pcm

TONES: Mapping[str, float] = {"▁GRACE": 500.0, "▁TO": 1000.0, "▁YOU": 2000.0, "R": 4000.0}
"""The frequency in Hz by which each token is called; "▁" begins a word."""
_BANDS = 80
_FRAMES = 9
"""That are looked at together, 10 ms apart; after each look they go on by 4."""
_STEP = 4
_LIMIT = -2.0
"""Louder than this a band is a tone: 0.3 of full scale lies near 4, silence below -10."""


def tones(*names: str, lasting_s: float = 0.3) -> Pcm:
    """Return one tone after the other; "" is silence."""
    at_s = np.arange(round(lasting_s * SAMPLE_RATE)) / SAMPLE_RATE
    parts = [0.3 * np.sin(2 * np.pi * TONES.get(name, 0.0) * at_s) for name in names]
    return np.concatenate(parts).astype(np.float32)


def write_transducer(folder: Path, kind: str = "lstm") -> Path:
    """Write encoder, decoder, joiner and tokens.txt into `folder`; return it.

    `kind` is what the encoder says that it is; its inputs and outputs are those of an LSTM.
    """
    import onnx

    folder.mkdir(parents=True, exist_ok=True)
    names = ["<blk>", *TONES]
    lines = "".join(f"{name} {index}\n" for index, name in enumerate(names))
    (folder / "tokens.txt").write_text(lines, encoding="utf-8")
    for part, model in {
        "encoder": _encoder(list(TONES.values()), kind),
        "decoder": _decoder(len(names)),
        "joiner": _joiner(len(names)),
    }.items():
        onnx.save(model, folder / f"{part}.onnx")
    return folder


def mel_band(frequency: float) -> int:
    """Return which of the 80 bands between 20 and 7600 Hz a frequency lies in."""
    low, high, here = (1127 * np.log1p(each / 700) for each in (20, 7600, frequency))
    return round(float((here - low) / (high - low) * (_BANDS + 1))) - 1


def _encoder(frequencies: Sequence[float], kind: str) -> Any:
    from onnx import TensorProto, helper

    size = len(frequencies) + 1
    looks = np.zeros((_BANDS, size), np.float32)
    for token, frequency in enumerate(frequencies, start=1):
        looks[mel_band(frequency), token] = 1.0
    least = np.full(size, -_LIMIT, np.float32)
    least[0] = 0.0  # the blank
    state = [1, "N", 1]
    nodes = [
        helper.make_node("ReduceMean", ["x"], ["mean"], axes=[1], keepdims=1),
        helper.make_node("MatMul", ["mean", "looks"], ["seen"]),
        helper.make_node("Add", ["seen", "least"], ["encoder_out"]),
        helper.make_node("Identity", ["state0"], ["next_state0"]),
        helper.make_node("Identity", ["state1"], ["next_state1"]),
    ]
    floats = TensorProto.FLOAT
    return _model(
        nodes,
        [
            helper.make_tensor_value_info("x", floats, ["N", _FRAMES, _BANDS]),
            helper.make_tensor_value_info("state0", floats, state),
            helper.make_tensor_value_info("state1", floats, state),
        ],
        [
            helper.make_tensor_value_info("encoder_out", floats, ["N", 1, size]),
            helper.make_tensor_value_info("next_state0", floats, state),
            helper.make_tensor_value_info("next_state1", floats, state),
        ],
        {"looks": looks, "least": least},
        {
            "model_type": kind,
            "T": _FRAMES,
            "decode_chunk_len": _STEP,
            "num_encoder_layers": 1,
            "d_model": 1,
            "rnn_hidden_size": 1,
        },
    )


def _decoder(size: int) -> Any:
    from onnx import TensorProto, helper

    forbidden = -100 * np.eye(size, dtype=np.float32)
    forbidden[0] = 0.0
    nodes = [
        helper.make_node("Gather", ["y", "last"], ["said"], axis=1),
        helper.make_node("Gather", ["forbidden", "said"], ["decoder_out"], axis=0),
    ]
    return _model(
        nodes,
        [helper.make_tensor_value_info("y", TensorProto.INT64, ["N", 2])],
        [helper.make_tensor_value_info("decoder_out", TensorProto.FLOAT, ["N", size])],
        {"forbidden": forbidden, "last": np.array(1, np.int64)},
        {"context_size": 2, "vocab_size": size},
    )


def _joiner(size: int) -> Any:
    from onnx import TensorProto, helper

    floats = TensorProto.FLOAT
    return _model(
        [helper.make_node("Add", ["encoder_out", "decoder_out"], ["logit"])],
        [
            helper.make_tensor_value_info("encoder_out", floats, ["N", size]),
            helper.make_tensor_value_info("decoder_out", floats, ["N", size]),
        ],
        [helper.make_tensor_value_info("logit", floats, ["N", size])],
        {},
        {"joiner_dim": size},
    )


def _model(
    nodes: Sequence[Any],
    inputs: Sequence[Any],
    outputs: Sequence[Any],
    constants: Mapping[str, Any],
    facts: Mapping[str, object],
) -> Any:
    from onnx import checker, helper, numpy_helper

    graph = helper.make_graph(
        list(nodes),
        "tiny",
        list(inputs),
        list(outputs),
        [numpy_helper.from_array(value, name) for name, value in constants.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    helper.set_model_props(model, {key: str(value) for key, value in facts.items()})
    checker.check_model(model)
    return model
