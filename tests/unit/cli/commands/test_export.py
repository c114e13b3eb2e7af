"""The `export` command."""

from __future__ import annotations

import io
import subprocess
import sys
import zipfile
from pathlib import Path

import av
import numpy as np
import pytest

from pipeline.captions.redaction import MARK
from pipeline.cli.main import main
from pipeline.protocol.codec import encode
from scripts.support.journal import message, session
from scripts.support.program import environment
from tests.support.cli import Cli
from tests.support.needs import needs_program


@pytest.fixture
def sessions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    session(tmp_path / "sessions", [message(1, "Grace", "Gracia", start_s=1.0, end_s=3.0)])
    return tmp_path / "sessions"


def test_subtitles_go_to_standard_output(sessions: Path, cli: Cli) -> None:
    assert cli("export last").out == "1\n00:00:01,000 --> 00:00:03,000\nGracia\n\n"


@pytest.mark.parametrize("mark", ['[{"from_s": 0, "to_s": 9, "ids": []}]', "damaged"])
def test_what_a_kill_has_left_of_words_off_the_record_is_not_exported(
    sessions: Path, cli: Cli, mark: str
) -> None:
    (folder,) = sessions.iterdir()
    (folder / MARK).write_text(mark)
    assert "Gracia" not in cli("export last", code=1).out
    assert ("Gracia" in (folder / "captions.jsonl").read_text()) is (mark == "damaged")


def test_a_files_ending_chooses_the_format(sessions: Path, cli: Cli) -> None:
    cli("export 2026-11-22T09-30-00 --lang both --out a.VTT")
    made = (sessions.parent / "a.VTT").read_text()
    assert made == "WEBVTT\n\n00:00:01.000 --> 00:00:03.000\nGrace\nGracia\n\n"
    cli("export last --format txt --out a.VTT")
    assert (sessions.parent / "a.VTT").read_text() == "Gracia\n"


def test_each_language_of_a_service_is_exported_by_its_name(sessions: Path, cli: Cli) -> None:
    (folder,) = sessions.iterdir()
    french = message(1, "Grace", "La grâce", start_s=1.0, end_s=3.0, lang="fr")
    (folder / "captions.fr.jsonl").write_bytes(encode(french) + b"\n")
    for target, text in {"fr": "La grâce", "es": "Gracia", "": "Gracia"}.items():
        assert cli("export last --format txt --target", target).out == f"{text}\n"
    english = message(1, "Gracias", "Thank you", start_s=1.0, end_s=3.0, lang="en")
    (folder / "captions.en.jsonl").write_bytes(encode(english) + b"\n")  # English is also spoken
    assert cli("export last --format txt --lang en").out == "Thank you\n"
    (folder / "captions.en.jsonl").unlink()
    assert "There is: en, es, fr. [session-lang]" in cli("export last --target de", code=1).err


def test_a_summary_is_a_draft_for_who_is_at_the_machine(sessions: Path, cli: Cli) -> None:
    assert cli("export last --summary").out.startswith("# 22 November 2026\n\n*A draft ")
    cli("export last --summary --out draft.md")
    assert (sessions.parent / "draft.md").read_text().startswith("# 22 November 2026\n")
    for wanted in ("--out draft.docx", "--format srt"):
        assert "[export-format]" in cli(f"export last --summary {wanted}", code=2).err


@pytest.mark.slow
def test_the_voice_says_a_service_when_it_is_over(sessions: Path, cli: Cli) -> None:
    needs_program("espeak-ng")
    (sessions.parent / "config.toml").write_text('[speech]\nengine = "espeak"\n')
    cli("export last --out a.mp3")
    with av.open(str(sessions.parent / "a.mp3")) as sound:
        frames = [frame.to_ndarray()[0] for frame in sound.decode(audio=0)]
    samples = np.concatenate(frames)
    assert 0.5 < len(samples) / 24_000 < 3.0
    assert float(np.abs(samples).max()) > 0.05
    assert "[export-format]" in cli("export last --lang source --format mp3", code=2).err


@pytest.mark.parametrize(
    ("arguments", "code", "named"),
    [
        (["nothing"], "session-missing", "2026-11-22T09-30-00"),
        (["last", "--sessions", "empty"], "session-missing", "empty"),
        (["last", "--out", "no/such/folder.srt"], "file-unwritable", "no/such/folder.srt"),
    ],
)
def test_what_cannot_be_is_told(
    sessions: Path,
    cli: Cli,
    arguments: list[str],
    code: str,
    named: str,
) -> None:
    output = cli("export", *arguments, code=1).err.strip()
    assert output.startswith("stark-translate: ")
    assert named in output
    assert output.endswith(f"[{code}]")


@pytest.mark.slow
def test_a_reader_that_leaves_early_gets_no_trace(sessions: Path) -> None:
    many = [message(n, "Grace " * 30, "Gracia " * 30) for n in range(1, 400)]
    session(sessions, many, "2026-11-29T09-30-00")
    program = "import sys; from pipeline.cli.main import main; sys.exit(main(['export', 'last']))"
    with subprocess.Popen(
        ["/bin/bash", "-c", f'"$PYTHON" -c "{program}" | head -1'],
        cwd=sessions.parent,
        env=environment(PYTHON=sys.executable),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        out, err = process.communicate(timeout=60)
    assert (out, err) == ("1\n", "")


@pytest.mark.parametrize("name", ["sermon", "sermon.srt.zip"])
def test_an_ending_that_the_file_would_not_be_is_refused(
    sessions: Path, cli: Cli, name: str
) -> None:
    """`export` once wrote SubRip into a document."""
    output = cli("export last --out", name, code=2).err
    assert name in output
    assert ".html" in output
    assert "[export-format]" in output
    assert not (sessions.parent / name).exists()
    cli("export last --format srt --out", name)


@pytest.mark.parametrize(("name", "begins"), [("a.htm", "<!doctype html>"), ("a.md", "Gracia")])
def test_transcripts_for_a_website(sessions: Path, cli: Cli, name: str, begins: str) -> None:
    cli("export last --out", name)
    assert (sessions.parent / name).read_text().startswith(begins)


def test_a_document_for_the_secretary(sessions: Path, cli: Cli) -> None:
    cli("export last --lang both --out a.docx")
    with zipfile.ZipFile(sessions.parent / "a.docx") as document:
        text = document.read("word/document.xml").decode()
    assert text.index("22 November 2026") < text.index("Grace") < text.index("Gracia")


def test_a_document_may_go_to_standard_output(
    sessions: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    assert main(["export", "last", "--format", "docx"]) == 0
    with zipfile.ZipFile(io.BytesIO(capfdbinary.readouterr().out)) as document:
        assert document.testzip() is None
