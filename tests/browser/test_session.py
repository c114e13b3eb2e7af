"""A display's knowledge of the service without any page: the state machine that all share."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from playwright.sync_api import Page

pytestmark = pytest.mark.browser


def hello(*captions: dict[str, Any], resumed: bool = False, **fields: Any) -> dict[str, Any]:
    made = {"type": "hello", "mode": "live", "state": "listening", "lang": "es", "source": "en"}
    return {
        **made,
        "targets": ["es", "uk"],
        "resumed": resumed,
        "captions": list(captions),
        **fields,
    }


def caption(number: int, seq: int, text: str = "texto", *, final: bool = False) -> dict[str, Any]:
    return {
        "type": "caption",
        "id": number,
        "seq": seq,
        "final": final,
        "stable": 0,
        "source": {"lang": "en", "text": "text"},
        "target": {"lang": "es", "text": text},
    }


STATUS = {"type": "status", "mode": "dry-run", "state": "speech"}

TAKE = """async ([options, messages]) => {
  const { Session } = await import("/js/shared/session.js");
  const session = new Session({ limit: 60, ...options });
  const changes = messages.map((one) =>
    typeof one === "string" ? session.setLink(one) : session.receive(one));
  const { link, mode, state, lang, source, langs, refusal, isBlank, isSpeaking } = session;
  const shown = session.captions.visible(lang).map(({ id, seq }) => [id, seq]);
  return [changes, { link, mode, state, lang, source, langs, refusal, isBlank, isSpeaking, shown }];
}"""


def take(page: Page, *messages: dict[str, Any] | str, **options: Any) -> tuple[Any, dict[str, Any]]:
    """Give a session messages and link states; return each one's changes, and the end state."""
    changes, session = page.evaluate(TAKE, [options, list(messages)])
    return changes, session


def test_it_begins_with_nothing(page: Page) -> None:
    _, session = take(page, lang="uk")
    assert session == {
        "link": "connecting", "mode": "", "state": "", "lang": "uk", "source": "", "langs": [],
        "refusal": "", "isBlank": False, "isSpeaking": False, "shown": [],
    }  # fmt: skip


def test_a_hello_says_all_there_is(page: Page) -> None:
    changes, session = take(page, "open", hello(caption(1, 3), caption(2, 4)), lang="uk")
    assert changes == [True, {"type": "hello", "missed": True}]
    assert session["shown"] == [[1, 3], [2, 4]]
    assert (session["lang"], session["source"]) == ("es", "en")
    assert session["langs"] == ["es", "uk", "en"]


@pytest.mark.parametrize(("count", "missed"), [(0, False), (6, False), (7, True)])
def test_after_a_long_break_a_page_begins_with_the_newest(
    page: Page, count: int, missed: bool
) -> None:
    said = [caption(10 + number, 20 + number) for number in range(count)]
    changes, session = take(page, hello(caption(1, 3)), hello(*said, resumed=True))
    assert changes[1] == {"type": "hello", "missed": missed}
    assert len(session["shown"]) == 1 + count, "what was there stays"


def test_a_new_session_takes_nothing_over(page: Page) -> None:
    _, session = take(page, hello(caption(1, 3)), hello(caption(1, 1)))
    assert session["shown"] == [[1, 1]]


def test_a_caption_is_new_once_and_final_once(page: Page) -> None:
    changes, session = take(
        page,
        hello(),
        caption(1, 1),
        caption(1, 2, final=True),
        caption(1, 2, final=True),
        caption(1, 3, "corregido", final=True),
        caption(1, 1),
    )
    flags = [(change["isNew"], change["isNewlyFinal"]) for change in changes[1:]]
    assert flags == [(True, False), (True, True), (False, False), (True, False), (False, False)]
    assert session["shown"] == [[1, 3]]


def test_older_captions_come_behind_the_newest(page: Page) -> None:
    earlier = {"type": "earlier", "captions": [caption(1, 1), caption(2, 2)]}
    changes, session = take(page, hello(caption(2, 4)), earlier)
    assert changes[1] == {"type": "earlier"}
    assert session["shown"] == [[1, 1], [2, 4]]


def test_the_state_follows_the_server(page: Page) -> None:
    changes, session = take(page, "open", hello(), STATUS)
    assert changes[2] == {"type": "status"}
    assert (session["mode"], session["state"], session["isSpeaking"]) == ("dry-run", "speech", True)
    _, session = take(page, "open", hello(), STATUS, "lost")
    assert not session["isSpeaking"], "nobody can know"
    _, session = take(page, "open", hello(), {**STATUS, "state": "blank"})
    assert (session["isBlank"], session["isSpeaking"]) == (True, False)


def test_a_link_that_is_lost_again_is_no_news(page: Page) -> None:
    changes, _ = take(page, "connecting", "open", "lost", "lost", "open")
    assert changes == [False, True, True, False, True]


def test_a_refusal_holds_until_the_server_takes_the_page(page: Page) -> None:
    error = {"type": "error", "code": "unknown-lang", "message": "No captions in xx."}
    changes, session = take(page, error)
    assert (changes, session["refusal"]) == (
        [{"type": "error", "code": "unknown-lang"}],
        "No captions in xx.",
    )
    _, session = take(page, error, hello())
    assert session["refusal"] == ""


def test_what_displays_need_not_know_changes_nothing(page: Page) -> None:
    """Version 1 may get new types and fields."""
    bulletin = {"type": "bulletin", "text": "?"}
    changes, session = take(page, hello(x=1), {"type": "alive"}, {"type": "level"}, bulletin)
    assert changes[1:] == [None, None, None]
    assert session["state"] == "listening"


@given(st.permutations(range(1, 9)))
@settings(max_examples=20, deadline=None)
def test_the_order_in_which_captions_come_does_not_matter(page: Page, order: list[int]) -> None:
    said = {seq: caption(1 + seq % 3, seq, final=seq > 6) for seq in range(1, 9)}
    _, session = take(page, hello(), *(said[seq] for seq in order))
    assert session["shown"] == [[1, 6], [2, 7], [3, 8]]


def test_silence_is_told_once_and_not_while_somebody_speaks(page: Page) -> None:
    """The test has its own clock: `advance(ms)` runs the timers that are due."""
    told = page.evaluate(
        """async () => {
          const { SilenceTimer } = await import("/js/shared/session.js");
          const [set, clear] = [window.setTimeout, window.clearTimeout];
          let now = 0;
          let timers = [];
          window.setTimeout = (act, ms) => (timers.push({ act, at: now + ms }), timers.at(-1));
          window.clearTimeout = (timer) => { timers = timers.filter((each) => each !== timer); };
          const advance = (ms) => {
            now += ms;
            const due = timers.filter(({ at }) => at <= now);
            timers = timers.filter(({ at }) => at > now);
            for (const { act } of due) act();
          };
          const told = [];
          const timer = new SilenceTimer(1000, () => told.push(now));
          const never = new SilenceTimer(0, () => told.push("never"));
          never.restart(false);
          timer.restart(false);
          advance(600);
          timer.restart(false); // somebody has spoken in between
          advance(600);
          advance(600);
          advance(5000);
          timer.restart(true);
          advance(5000);
          timer.restart(false);
          advance(1000);
          [window.setTimeout, window.clearTimeout] = [set, clear];
          return told;
        }"""
    )
    assert told == [1800, 12800]
