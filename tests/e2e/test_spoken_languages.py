"""A service in English and Spanish: the real program, Whisper base and natural voices."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import soundfile

from pipeline.core.resources import bundled
from pipeline.core.types import SAMPLE_RATE
from pipeline.protocol.caption import CaptionMessage
from pipeline.session.reader import read_journal
from scripts.support.program import call
from tests.support.paths import TESTIMONY

pytestmark = pytest.mark.slow


def newest(folder: Path, lang: str = "") -> dict[str, list[CaptionMessage]]:
    """Return the last version of each caption, by spoken language."""
    last = {message.id: message for message in read_journal(folder, lang)}
    spoken: dict[str, list[CaptionMessage]] = {}
    for message in last.values():
        spoken.setdefault(message.source.lang, []).append(message)
    return spoken


def test_a_testimony_in_spanish_is_captioned_for_everybody(
    tmp_path: Path, whisper_base: Path
) -> None:
    english, rate = soundfile.read(bundled("demo", "pauses.flac"), dtype="float32")
    assert rate == SAMPLE_RATE
    before, after = english[: 9 * rate], english[round(9.4 * rate) : 16 * rate]
    spanish, _ = soundfile.read(TESTIMONY, dtype="float32")
    pause = np.zeros(rate, np.float32)
    mixed = np.concatenate([before, pause, spanish, pause, after, pause])
    soundfile.write(tmp_path / "mixed.flac", mixed, rate)
    done = call(
        *("run", "--from", "en,es", "--input", "mixed.flac", "--recognizer", str(whisper_base)),
        *("--set", "audio.pace=fast", "--port", "0"),
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr
    assert "needs a model" not in done.stderr
    (folder,) = (tmp_path / "sessions").glob("2*")
    for target, journal in (("es", ""), ("en", "en")):
        spoken = newest(folder, journal)
        assert list(spoken) == ["en", "es"], spoken
        for lang, captions in spoken.items():
            assert {message.target.lang for message in captions} == {target}
            if lang == target:
                assert {message.target.engine for message in captions} == {"heard"}
                assert all(m.target.text == m.source.text for m in captions)
            else:
                assert "gemma" in {message.target.engine for message in captions}
    transcripts = {
        lang: (folder / f"transcript.{lang}.txt").read_text("utf-8").lower()
        for lang in ("en", "es")
    }
    assert all("hospital" in text for text in transcripts.values())
    assert "oraron" in transcripts["es"]
    assert "oraron" not in transcripts["en"]
    # A caption in its spoken language is no translation to learn from.
    pairs = "".join(file.read_text("utf-8") for file in folder.glob("*_pairs.jsonl"))
    assert '"source_lang":"es"' not in pairs
