"""HTTP requests that show a caption in another program, by each program's own documentation. Pure.

- YouTube, "closed captions by HTTP POST": text/plain, a line with the time in UTC and one with the
  text; `seq` counts the requests, so that what comes twice or late is known as such.
- Zoom, "third-party closed captioning": text/plain, the text alone; `seq` counts captions, without
  a gap, and the same address with `/seq` tells the last one; `lang` has a country.
- vMix, its web API: the function SetText, of an input and a field of its title.
- ProPresenter 7.9 and later, its API: a message's trigger, with the text in a token.
- FreeShow, its REST API: the action change_variable, of a text variable. It never says that there
  is no such variable.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from typing import TypeAlias
from urllib.parse import parse_qsl, quote, urlencode, urlsplit, urlunsplit

import orjson


@dataclass(frozen=True, slots=True)
class Shown:
    """A caption to show elsewhere."""

    text: str
    spoken_utc: datetime
    """When it began to be spoken."""


@dataclass(frozen=True, slots=True)
class HttpRequest:
    """A request; without a body it is a GET."""

    url: str
    body: bytes | None = None
    headers: dict[str, str] = field(default_factory=dict)


MakeRequest: TypeAlias = Callable[[Shown, int], HttpRequest]
"""Makes the request for a caption; the number counts those of one program, from 1."""


def youtube(ingestion_url: str) -> MakeRequest:
    """Return what posts to a stream's caption ingestion URL, as YouTube Studio shows it."""

    def make(shown: Shown, number: int) -> HttpRequest:
        time = shown.spoken_utc.strftime("%Y-%m-%dT%H:%M:%S.") + (
            f"{shown.spoken_utc.microsecond // 1000:03d}"
        )
        # A line feed would end the caption.
        body = f"{time}\n{' '.join(shown.text.split())}\n"
        headers = {"Content-Type": "text/plain; charset=utf-8"}
        return HttpRequest(_with_query(ingestion_url, seq=str(number)), body.encode(), headers)

    return make


def zoom(caption_url: str, lang: str) -> MakeRequest:
    """Return what posts to a meeting's caption URL, which its host copies ("API token")."""
    country = {"en": "US", "zh": "CN", "ja": "JP", "ko": "KR", "pt": "BR"}.get(lang, lang.upper())

    def make(shown: Shown, number: int) -> HttpRequest:
        headers = {"Content-Type": "text/plain; charset=utf-8"}
        url = _with_query(caption_url, seq=str(number), lang=f"{lang}-{country}")
        return HttpRequest(url, f"{' '.join(shown.text.split())}\n".encode(), headers)

    return make


def zoom_count(caption_url: str) -> HttpRequest:
    """Return what asks a meeting for the number of the last caption that it has got."""
    parts = urlsplit(caption_url)
    return HttpRequest(urlunsplit(parts._replace(path=f"{parts.path.rstrip('/')}/seq")))


def vmix(address: str, title: str) -> MakeRequest:
    """Return what sets a title's text; `title` is an input, a comma, a field of it."""
    name, _, of_title = title.partition(",")

    def make(shown: Shown, number: int) -> HttpRequest:  # noqa: ARG001
        return HttpRequest(
            _with_query(
                f"{address.rstrip('/')}/api/",
                Function="SetText",
                Input=name.strip(),
                SelectedName=of_title.strip() or "Message.Text",
                Value=shown.text,
            )
        )

    return make


def propresenter(address: str, message: str) -> MakeRequest:
    """Return what triggers a message; it is named, and a token of it, behind a comma."""
    name, _, token = message.partition(",")

    def make(shown: Shown, number: int) -> HttpRequest:  # noqa: ARG001
        tokens = [{"name": token.strip() or "Message", "text": {"text": shown.text}}]
        return HttpRequest(
            # A slash in a message's name would end it there.
            f"{address.rstrip('/')}/v1/message/{quote(name.strip(), safe='')}/trigger",
            orjson.dumps(tokens),
            {"Content-Type": "application/json"},
        )

    return make


def freeshow(address: str, variable: str) -> MakeRequest:
    """Return what sets a text variable; FreeShow takes the one whose name is the most like it."""
    asked = {"action": "change_variable", "name": variable.strip(), "key": "text"}

    def make(shown: Shown, number: int) -> HttpRequest:  # noqa: ARG001
        body = orjson.dumps({**asked, "value": shown.text})
        return HttpRequest(f"{address.rstrip('/')}/", body, {"Content-Type": "application/json"})

    return make


def _with_query(url: str, **more: str) -> str:
    parts = urlsplit(url)
    # The address has the stream's key in its query: that stays, but for a `seq` of its own.
    given = [each for each in parse_qsl(parts.query, keep_blank_values=True) if each[0] not in more]
    return urlunsplit(parts._replace(query=urlencode([*given, *more.items()], quote_via=quote)))
