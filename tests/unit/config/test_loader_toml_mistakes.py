"""Each usual mistake is answered with the line as it should be, and that line is right."""

from __future__ import annotations

import re
import tomllib

import pytest

from pipeline.config.loader import hint

MISTAKES = [
    ("device = „Mischpult“  # the desk", 'straight quotes, `device = "Mischpult"  # the desk`'),
    ('directory = "C:\\sermons"', "write / in names of folders"),
    ("enabled = Off", "write `enabled = false`"),
    ("enabled = True", "write `enabled = true`"),
    ('device: "Mixer"', 'write = for the colon: `device = "Mixer"`'),
    ("[audio", "a section ends with a bracket"),
]


@pytest.mark.parametrize(("line", "says"), MISTAKES)
def test_a_usual_mistake_is_answered_with_what_to_write(line: str, says: str) -> None:
    content = f"[audio]\n{line}\nchannel = 1\n"
    with pytest.raises(tomllib.TOMLDecodeError) as caught:
        tomllib.loads(content)
    message = hint(content, str(caught.value))
    assert message.startswith(f"Line 2 is `{line}`: ")
    assert says in message
    if advised := re.search(r"`([^`]+=[^`]+)`\.?$", message):
        tomllib.loads(advised[1])


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("a = 1\na = 007\n", "Expected newline (at line 2, column 6)"),
        ("a = [1,\n", "Unclosed array (at end of document)"),
        ("", "Invalid (at line 7, column 1)"),
    ],
)
def test_of_what_is_not_usual_nothing_is_guessed(content: str, problem: str) -> None:
    assert hint(content, problem) == ""


@pytest.mark.parametrize(
    "line",
    [
        "token = hush-hush",
        "token = “hush-hush”",
        'operator = { token = "hush-hush", token = 1 }',
        "youtube: http://upload.youtube.com/closedcaption?cid=hush-hush",
        "nats = nats://church:hush-hush@captions.example.org",
        "url = http://church:hush-hush@gpu.example.org/v1",
    ],
)
def test_the_line_of_a_secret_is_not_repeated(line: str) -> None:
    content = f"[operator]\n{line}\n"
    with pytest.raises(tomllib.TOMLDecodeError) as caught:
        tomllib.loads(content)
    message = hint(content, f"{caught.value} (at line 2, column 1)")
    assert message.startswith("Line 2: text has straight quotes, `")
    assert "hush" not in message
