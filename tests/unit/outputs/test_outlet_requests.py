from __future__ import annotations

from datetime import UTC, datetime
from functools import partial
from urllib.parse import parse_qs, urlsplit

import orjson

from pipeline.outputs.outlet import (
    Shown,
    freeshow,
    propresenter,
    vmix,
    youtube,
    zoom,
    zoom_count,
)

SHOWN = Shown("El Señor\nes mi pastor & guía.", datetime(2026, 11, 22, 9, 30, 2, 118_900, UTC))


def test_youtube_gets_time_and_text_and_a_number_that_counts() -> None:
    make = partial(youtube, "http://upload.example.org/closedcaption?cid=k-1&lang=es")
    request = make(SHOWN, 7)
    assert parse_qs(urlsplit(request.url).query) == {"cid": ["k-1"], "lang": ["es"], "seq": ["7"]}
    assert request.body is not None
    assert request.body.decode() == ("2026-11-22T09:30:02.118\nEl Señor es mi pastor & guía.\n")
    assert request.headers["Content-Type"].startswith("text/plain")
    assert "seq=8" in make(SHOWN, 8).url


def test_zoom_gets_the_text_alone_with_number_and_language() -> None:
    url = "https://wmcc.zoom.us/closedcaption?id=200610693&ns=GZHkEA%3D%3D&signature=nYt"
    given = {"id": ["200610693"], "ns": ["GZHkEA=="], "signature": ["nYt"]}
    # Of most languages the country has another code: sv-SV would be Swedish of El Salvador.
    for lang, named in (("es", "es-ES"), ("en", "en-US"), ("sv", "sv-SE"), ("fil", "fil-PH")):
        request = zoom(url, lang, SHOWN, 7)
        assert parse_qs(urlsplit(request.url).query) == {**given, "seq": ["7"], "lang": [named]}
        assert request.body == "El Señor es mi pastor & guía.\n".encode()
        assert request.headers["Content-Type"].startswith("text/plain")
    asked = zoom_count(url)
    assert (urlsplit(asked.url).path, asked.body) == ("/closedcaption/seq", None)
    assert parse_qs(urlsplit(asked.url).query) == given


def test_vmix_is_told_input_field_and_text() -> None:
    request = vmix("http://127.0.0.1:8088/", "Lower Third, Headline.Text", SHOWN, 1)
    assert urlsplit(request.url).path == "/api/"
    assert parse_qs(urlsplit(request.url).query) == {
        "Function": ["SetText"],
        "Input": ["Lower Third"],
        "SelectedName": ["Headline.Text"],
        "Value": [SHOWN.text],
    }
    assert request.body is None


def test_an_empty_caption_clears_a_vmix_title() -> None:
    url = vmix("http://127.0.0.1:8088", "1", Shown("", SHOWN.spoken_utc), 1).url
    assert parse_qs(urlsplit(url).query, keep_blank_values=True)["Value"] == [""]


def test_propresenter_is_told_message_token_and_text() -> None:
    request = propresenter("http://127.0.0.1:1025", "Live / captions, Text", SHOWN, 1)
    assert urlsplit(request.url).path == "/v1/message/Live%20%2F%20captions/trigger"
    assert request.body is not None
    assert orjson.loads(request.body) == [{"name": "Text", "text": {"text": SHOWN.text}}]


def test_freeshow_is_told_action_variable_and_text() -> None:
    for text in (SHOWN.text, ""):
        shown = Shown(text, SHOWN.spoken_utc)
        request = freeshow("http://127.0.0.1:5506/", " Captions ", shown, 1)
        assert request.url == "http://127.0.0.1:5506/"
        assert request.headers["Content-Type"] == "application/json"  # FreeShow reads no other body
        assert request.body is not None
        assert orjson.loads(request.body) == {
            "action": "change_variable",
            "name": "Captions",
            "key": "text",
            "value": text,
        }
