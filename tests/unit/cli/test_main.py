"""The command line explains itself and refuses clearly."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipeline import __version__
from pipeline.config.loader import leaves
from pipeline.config.schema import Settings
from tests.support.cli import Cli
from tests.support.paths import ROOT

pytestmark = pytest.mark.usefixtures("elsewhere")


def test_help_gives_examples_and_exit_codes(cli: Cli) -> None:
    text = cli("--help").out
    for word in ("stark-translate demo", "devices --meter", "dry-run", "78 wrong settings"):
        assert word in text
    assert cli("help").out == text
    assert cli("help run") == cli("run --help")
    assert "--config FILE" in cli("run --help").out
    assert cli("--version").out == f"{__version__}\n"


def test_config_shows_every_value_and_its_origin(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("config.toml").write_text('[audio]\ndevice = "Mixer"\n[operator]\ntoken = "hush"\n')
    monkeypatch.setenv("STARK_TRANSLATE__TRANSLATE__FINAL__ENGINE", "marian")
    text = cli("config").out
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
def test_config_shows_what_old_keys_mean_now(cli: Cli) -> None:
    old = '[outputs]\nvmix = "http://me:hush@a:1/"\n[stt]\nurl = "http://gpu:1/v1"\n'
    Path("config.toml").write_text(old)
    text = cli("config --changed").out
    assert [line.split("#")[0].strip() for line in text.splitlines()] == [
        *("[stt]", 'server = "stt"', "[servers.stt]", 'url = "http://gpu:1/v1"'),
        *('key_file = ""', 'ca_file = ""', "[[outputs]]", 'program = "vmix"'),
        *('url = "http://a:1"', 'lang = ""', 'place = ""', "", ""),
    ]
    assert text.splitlines()[-2:] == [
        '# config.toml: outputs.vmix: write [[outputs]] with program = "vmix", url.',
        '# config.toml: stt.url: write [servers.NAME] with url, and server = "NAME" in [stt].',
    ]


def test_a_name_that_toml_needs_quotes_for_has_them(cli: Cli) -> None:
    Path("config.toml").write_text('[servers."my.gpu\\u001b[2J"]\nurl = "http://a/v1"\n')
    assert '[servers."my.gpu\\u001b[2J"]\n' in cli("config").out


@pytest.mark.usefixtures("own_final_model")
def test_config_can_leave_the_defaults_out(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also defaults that the file sets, because the shipped file sets every key."""
    Path("config.toml").write_text(
        '[audio]\ndevice = "Mixer"\nchannel = 1\n[server]\nport = 8765\n'
    )
    monkeypatch.setenv("STARK_TRANSLATE__STT__THREADS", "7")
    text = cli("config --changed").out
    assert [line.split("#")[0].strip() for line in text.splitlines()] == [
        "[audio]", 'device = "Mixer"', "[stt]", "threads = 7",
    ]  # fmt: skip
    shipped = cli("config --changed --config", str(ROOT / "config.toml")).out
    assert shipped.split() == ["[stt]", "threads", "=", "7", "#", "environment"]


@pytest.mark.parametrize(
    ("command", "code", "says"),
    [
        ("run --to es --set translate.target.x=1", 78, "translate.target.x"),
        ("run --to es,fr --set translate.targets.fr.x=1", 78, "is set to a value"),
        ("help models pull", 0, "--accept-terms"),
        ("budget --gpu Radeon", 2, "[gpu-unknown]"),
        ("budget --bandwidth -1", 2, "[option-bad-value]"),
        ("check --seconds 0", 2, "'0' is no number between 0.5 and 600"),
        ("desk --companion page.companionconfig", 2, "--buttons NAME"),
        ("desk --port 0", 2, "[port-unknown]"),
        ("desk --port 1", 1, "[token-missing]"),
        ("glossary try grace --set church.glossary=false", 2, "church.glossary"),
        ("learn collect", 1, "[no-sessions]"),
        ("learn compare starter none --role marian", 2, "none"),
        ("learn compare starter none --sentences 0", 2, "'0' is no number between 1 and 1000000"),
        ("learn hear --batch -1", 2, "'-1' is no number between 1 and 1000000"),
        ("learn distill --dry-run --round 2", 1, "distill/model"),
        ("learn mix --pairs -1", 2, "'-1' is no number between 0 and 10000000"),
        ("learn mix --general-pairs -1", 2, "'-1' is no number between 0 and 10000000"),
        ("learn distill --minutes=nan", 2, "'nan' is no number between 0.001 and 10000"),
        ("models pull", 2, "models list"),
        ("notes remove", 1, "[notes-missing]"),
        ("notes show", 1, "[notes-missing]"),
        ("relay --nats http://host", 78, "nats://captions.example.org:4222"),
        ("replay last", 1, "[session-missing]"),
        ("replay last --speed 0", 2, "'0' is no number between 0.01 and 1000"),
        ("review last", 1, "[session-missing]"),
        ("score last", 1, "[session-missing]"),
        ("score last --model x.ckpt", 2, "[model-unused]"),
        ("serve-model --port 0", 2, "argument --port: '0' is no number between 1 and 65535"),
        ("serve-model --rooms 65", 2, "argument --rooms: '65' is no number between 1 and 64"),
        ("serve-model --threads 0", 2, "argument --threads: '0' is no number between 1 and 1024"),
    ],
)
def test_refusals(cli: Cli, command: str, code: int, says: str) -> None:
    text = "".join(cli(command, code=code))
    assert says in text
    assert "Traceback" not in text
    assert list(Path().iterdir()) == []


@pytest.mark.parametrize(
    ("command", "usage", "meant"),
    [
        ("exprot last", "", "Did you mean export?"),
        ("run --pace fats", "run ", "Did you mean fast?"),
        ("export last --fromat srt", "export ", "--format?"),
        ("run --set vad", "run ", "is no KEY=VALUE such as"),
        ("models pul", "models ", "Did you mean pull?"),
    ],
)
def test_a_slip_is_answered_with_the_word_that_was_meant(
    cli: Cli, command: str, usage: str, meant: str
) -> None:
    output = cli(command, code=2).err
    assert output.startswith(f"usage: stark-translate {usage}")
    assert meant in output


@pytest.mark.parametrize("command", ["xyzzy", "run --xyzzy", "run extra"])
def test_what_is_near_to_nothing_gets_no_guess(cli: Cli, command: str) -> None:
    assert "Did you mean" not in cli(command, code=2).err
