"""The manifest beside the output of a step."""

from __future__ import annotations

import hashlib
from pathlib import Path

import orjson

from pipeline.learning.manifest import write_manifest


def test_it_names_inputs_with_hashes_settings_versions_and_figures(tmp_path: Path) -> None:
    (tmp_path / "pairs.jsonl").write_bytes(b"one\n")
    out = tmp_path / "manifest.json"
    write_manifest(
        out,
        step="mix",
        inputs=[tmp_path / "pairs.jsonl"],
        settings={"seed": 1, "bible": Path("bible.tsv")},
        figures={"pairs": 3},
    )
    manifest = orjson.loads(out.read_bytes())
    assert manifest["inputs"] == [
        {"file": "pairs.jsonl", "bytes": 4, "sha256": hashlib.sha256(b"one\n").hexdigest()}
    ]
    assert (manifest["step"], manifest["figures"]) == ("mix", {"pairs": 3})
    assert manifest["settings"] == {"seed": 1, "bible": "bible.tsv"}
    assert "sacrebleu" in manifest["versions"]
