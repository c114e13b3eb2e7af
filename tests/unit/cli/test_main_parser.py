"""What is refused names what was probably meant, and the usage of the command it was given to."""

from __future__ import annotations

import pytest

from pipeline.cli.main import main


@pytest.mark.parametrize(
    ("arguments", "usage", "meant"),
    [
        (["chek"], "usage: stark-translate ", "Did you mean check?"),
        (["exprot", "last"], "usage: stark-translate ", "Did you mean export?"),
        (["run", "--prot", "80"], "usage: stark-translate run ", "Did you mean --port?"),
        (["run", "--pace", "fats"], "usage: stark-translate run ", "Did you mean fast?"),
        (["export", "last", "--fromat", "srt"], "usage: stark-translate export ", "--format?"),
        (["logs"], "usage: stark-translate ", "journalctl -u stark-translate"),
        (["run", "--set", "vad"], "usage: stark-translate run ", "is no KEY=VALUE such as"),
        (["models", "pul"], "usage: stark-translate models ", "Did you mean pull?"),
        (["run", "a.wav"], "usage: stark-translate run ", "Did you mean --input a.wav?"),
        ([], "usage: stark-translate ", "`stark-translate demo` is the one to begin with"),
    ],
)
def test_a_slip_is_answered_with_the_word_that_was_meant(
    capsys: pytest.CaptureFixture[str], arguments: list[str], usage: str, meant: str
) -> None:
    with pytest.raises(SystemExit) as caught:
        main(arguments)
    assert caught.value.code == 2
    told = capsys.readouterr().err
    assert told.startswith(usage)
    assert meant in told


def test_what_is_near_to_nothing_gets_no_guess(capsys: pytest.CaptureFixture[str]) -> None:
    for arguments in (["xyzzy"], ["run", "--xyzzy"], ["run", "extra"]):
        with pytest.raises(SystemExit):
            main(arguments)
        assert "Did you mean" not in capsys.readouterr().err
