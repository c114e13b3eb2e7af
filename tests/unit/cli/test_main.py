"""The command line explains itself and refuses clearly."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipeline import __version__
from pipeline.cli.main import main
from pipeline.config.loader import leaves
from pipeline.config.schema import Settings
from tests.support.paths import ROOT

pytestmark = pytest.mark.usefixtures("elsewhere")


def said(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str]:
    try:
        code = main(arguments)
    except SystemExit as end:
        code = int(end.code or 0)
    out, err = capsys.readouterr()
    return code, out + err


@pytest.mark.parametrize("command", ["run", "dry-run", "demo", "devices", "config"])
def test_help_explains_every_option(capsys: pytest.CaptureFixture[str], command: str) -> None:
    code, text = said(capsys, command, "--help")
    assert code == 0
    assert "--config FILE" in text
    assert f"stark-translate {command}" in text


def test_help_gives_examples_and_exit_codes(capsys: pytest.CaptureFixture[str]) -> None:
    code, text = said(capsys, "--help")
    assert code == 0
    for word in ("stark-translate demo", "devices --meter", "dry-run", "78 wrong settings"):
        assert word in text
    assert said(capsys, "help") == (code, text)
    assert said(capsys, "help", "run") == said(capsys, "run", "--help")
    assert said(capsys, "--version") == (0, f"{__version__}\n")


def test_config_shows_every_value_and_its_origin(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("config.toml").write_text('[audio]\ndevice = "Mixer"\n[operator]\ntoken = "hush"\n')
    monkeypatch.setenv("STARK_TRANSLATE__TRANSLATE__FINAL__ENGINE", "marian")
    code, text = said(capsys, "config")
    assert code == 0
    lines = {line.split(" = ")[0]: line for line in text.splitlines() if " = " in line}
    assert lines["device"].endswith("# built-in default")  # of stt; audio's is below
    assert 'device = "Mixer"' in text
    assert "# config.toml" in text
    assert 'engine = "marian"' in text
    assert "# environment" in text
    assert "hush" not in text
    every = [path for path, _ in leaves(Settings().model_dump())]
    # There are no servers and no outputs.
    assert len([line for line in text.splitlines() if " = " in line]) == len(every) - 2


@pytest.mark.usefixtures("own_final_model")
def test_config_shows_what_old_keys_mean_now(capsys: pytest.CaptureFixture[str]) -> None:
    old = '[outputs]\nvmix = "http://me:hush@a:1/"\n[stt]\nurl = "http://gpu:1/v1"\n'
    Path("config.toml").write_text(old)
    code, text = said(capsys, "config", "--changed")
    assert (code, [line.split("#")[0].strip() for line in text.splitlines()]) == (
        0,
        [
            *("[stt]", 'server = "stt"', "[servers.stt]", 'url = "http://gpu:1/v1"'),
            *('key_file = ""', 'ca_file = ""', "[[outputs]]", 'program = "vmix"'),
            *('url = "http://a:1"', 'lang = ""', 'place = ""', "", ""),
        ],
    )
    assert text.splitlines()[-2:] == [
        '# config.toml: outputs.vmix: write [[outputs]] with program = "vmix", url.',
        '# config.toml: stt.url: write [servers.NAME] with url, and server = "NAME" in [stt].',
    ]


@pytest.mark.usefixtures("own_final_model")
def test_config_can_leave_the_defaults_out(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also defaults that the file sets, because the shipped file sets every key."""
    Path("config.toml").write_text(
        '[audio]\ndevice = "Mixer"\nchannel = 1\n[server]\nport = 8765\n'
    )
    monkeypatch.setenv("STARK_TRANSLATE__STT__THREADS", "7")
    code, text = said(capsys, "config", "--changed")
    assert code == 0
    assert [line.split("#")[0].strip() for line in text.splitlines()] == [
        "[audio]", 'device = "Mixer"', "[stt]", "threads = 7",
    ]  # fmt: skip
    assert said(capsys, "config", "--changed", "--config", str(ROOT / "config.toml"))[
        1
    ].split() == (["[stt]", "threads", "=", "7", "#", "environment"])


@pytest.mark.parametrize(
    ("command", "code", "says"),
    [
        ("run --to es --set translate.target.x=1", 78, "translate.target.x"),
        ("run --to es,fr --set translate.targets.fr.x=1", 78, "is set to a value"),
        ("help models pull", 0, "--accept-terms"),
        ("budget --gpu Radeon", 2, "[gpu-unknown]"),
        ("budget --bandwidth -1", 2, "[option-bad-value]"),
        ("check --seconds 0", 2, "'0' is no number between 0.5 and 600"),
        ("check --seconds many", 2, "'many' is no number between 0.5 and 600"),
        ("check --seconds nan", 2, "'nan' is no number between 0.5 and 600"),
        ("desk --companion page.companionconfig", 2, "--buttons NAME"),
        ("desk --port 0", 2, "[port-unknown]"),
        ("desk --port 1", 1, "[token-missing]"),
        ("glossary try grace --set church.glossary=false", 2, "church.glossary"),
        ("learn collect", 1, "[no-sessions]"),
        ("learn compare starter none --role marian", 2, "none"),
        (
            "learn compare starter starter --sentences 0",
            2,
            "'0' is no number between 1 and 1000000",
        ),
        (
            "learn compare starter starter --sentences few",
            2,
            "'few' is no number between 1 and 1000000",
        ),
        ("learn hear --batch -1", 2, "'-1' is no number between 1 and 1000000"),
        ("learn distill --dry-run --round 2", 1, "distill/model"),
        ("learn distill --minutes=nan", 2, "'nan' is no number between 0.001 and 10000"),
        ("learn hear --minutes=-5", 2, "'-5' is no number between 0.001 and 10000"),
        ("learn translate --minutes=hour", 2, "'hour' is no number between 0.001 and 10000"),
        ("models pull", 2, "models list"),
        ("notes remove", 1, "[notes-missing]"),
        ("notes show", 1, "[notes-missing]"),
        ("relay --nats http://host", 78, "nats://captions.example.org:4222"),
        ("replay last", 1, "[session-missing]"),
        ("replay last --speed 0", 2, "'0' is no number between 0.01 and 1000"),
        ("replay last --speed 1e9", 2, "'1e9' is no number between 0.01 and 1000"),
        ("replay last --speed fast", 2, "'fast' is no number between 0.01 and 1000"),
        ("replay last --speed nan", 2, "'nan' is no number between 0.01 and 1000"),
        ("review last", 1, "[session-missing]"),
        ("score last", 1, "[session-missing]"),
        ("score last --model x.ckpt", 2, "[model-unused]"),
        ("serve-model --port 0", 2, "argument --port: '0' is no number between 1 and 65535"),
        ("serve-model --port 99999", 2, "'99999' is no number between 1 and 65535"),
        ("serve-model --port x", 2, "'x' is no number between 1 and 65535"),
        ("serve-model --rooms 65", 2, "argument --rooms: '65' is no number between 1 and 64"),
        ("serve-model --rooms x", 2, "'x' is no number between 1 and 64"),
        ("serve-model --threads 0", 2, "argument --threads: '0' is no number between 1 and 1024"),
    ],
)
def test_refusals(capsys: pytest.CaptureFixture[str], command: str, code: int, says: str) -> None:
    got, text = said(capsys, *command.split())
    assert got == code, text
    assert says in text
    assert "Traceback" not in text
    assert list(Path().iterdir()) == []


@pytest.mark.parametrize(
    ("arguments", "usage", "meant"),
    [
        (["exprot", "last"], "usage: stark-translate ", "Did you mean export?"),
        (["run", "--pace", "fats"], "usage: stark-translate run ", "Did you mean fast?"),
        (["export", "last", "--fromat", "srt"], "usage: stark-translate export ", "--format?"),
        (["run", "--set", "vad"], "usage: stark-translate run ", "is no KEY=VALUE such as"),
        (["models", "pul"], "usage: stark-translate models ", "Did you mean pull?"),
    ],
)
def test_a_slip_is_answered_with_the_word_that_was_meant(
    capsys: pytest.CaptureFixture[str], arguments: list[str], usage: str, meant: str
) -> None:
    with pytest.raises(SystemExit) as caught:
        main(arguments)
    assert caught.value.code == 2
    output = capsys.readouterr().err
    assert output.startswith(usage)
    assert meant in output


def test_what_is_near_to_nothing_gets_no_guess(capsys: pytest.CaptureFixture[str]) -> None:
    for arguments in (["xyzzy"], ["run", "--xyzzy"], ["run", "extra"]):
        with pytest.raises(SystemExit):
            main(arguments)
        assert "Did you mean" not in capsys.readouterr().err
