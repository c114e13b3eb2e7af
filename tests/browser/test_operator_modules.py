"""The operator page's modules that need no page, run unchanged in the browser."""

from __future__ import annotations

import json
from typing import Any, get_args

import pytest
from playwright.sync_api import Page

from pipeline.core.types import State
from pipeline.workers.degradation import REASON
from tests.browser.conftest import run

pytestmark = pytest.mark.browser


def record(number: int = 1, **fields: Any) -> dict[str, Any]:
    return {
        "type": "utterance",
        "id": number,
        "lang": "en",
        "start_s": 1.0,
        "raw_text": "raw",
        "text": "text",
        "corrections": [],
        "words": [],
        "flags": [],
        "filtered": "",
        "partial": {"lang": "es", "text": "rápida", "engine": "marian"},
        "final": {"lang": "es", "text": "buena", "engine": "gemma"},
        "partial_ms": 80.0,
        "final_ms": 600.0,
        "last_syllable_to_partial_ms": 800.0,
        "last_syllable_to_final_ms": 1400.0,
    } | fields


def caption(number: int, text: str, seq: int, **fields: Any) -> dict[str, Any]:
    engine = fields.pop("engine", "gemma")
    return {
        "id": number,
        "seq": seq,
        "final": True,
        "stable": len(text),
        "start_s": 1.0,
        "source": {"lang": "en", "text": "text" if text else ""},
        "target": {"lang": "es", "text": text, "engine": engine},
    } | fields


def test_doubtful_words_and_corrections_are_marked_in_place(page: Page) -> None:
    """Offsets are code points; the joined pieces are the corrected text."""
    raw = "😀 He is the pro pitty asian, the the end."
    given = record(
        raw_text=raw,
        text="😀 He is the propitiation, the the end.",
        corrections=[
            {
                "rule": "r",
                "found": "pro pitty asian",
                "replacement": "propitiation",
                "start": raw.index("pro"),
            }
        ],
        words=[
            {"text": word, "probability": 0.2 if at in (5, 8) else 0.9}
            for at, word in enumerate(raw.split())
        ],
    )
    found = run(page, "operator/marks", "return m.pieces(v[0])", given)
    assert "".join(piece["text"] for piece in found) == given["text"]
    assert [(p["kind"], p["text"], p["heard"]) for p in found if p["kind"] != "plain"] == [
        ("fixed", "propitiation", "pro pitty asian"),  # a doubtful word inside is not marked twice
        ("doubt", "the", "the"),
    ]
    assert "".join(p["heard"] for p in found) == raw
    assert found[3]["note"] == "The machine is 20 % sure that it heard this."
    assert "“pro pitty asian”" in found[1]["note"]
    assert found[2]["text"] == ", the "  # the second "the" is the doubtful one


def test_words_that_are_not_in_the_text_mark_nothing(page: Page) -> None:
    given = record(raw_text="Peace be.", words=[{"text": "war", "probability": 0.0}])
    del given["words"][0]["probability"]
    found = run(page, "operator/marks", "return m.pieces(v[0])", given)
    assert [(p["kind"], p["text"]) for p in found] == [("plain", "Peace be.")]
    del given["words"]
    assert run(page, "operator/marks", "return m.pieces(v[0]).length", given) == 1


def entries(page: Page, *steps: tuple[str, Any], limit: int = 9) -> list[dict[str, Any]]:
    """Return each entry after these steps: its state, versions and remarks."""
    found: list[dict[str, Any]] = run(
        page,
        "operator/utterances",
        """const all = new m.Utterances(v[1]);
           for (const [name, value] of v[0]) all[name](value);
           return all.list().map((e) => ({
             id: e.id, standing: m.standing(e), shown: m.shownText(e).text,
             versions: m.versions(e).map(
               (x) => [x.by, x.text, x.workMs, x.afterMs, x.onScreen, x.alike]),
             remarks: m.remarks(e).map((x) => x.text)}));""",
        steps,
        limit,
    )
    return found


def test_both_translations_stand_side_by_side_with_their_times(page: Page) -> None:
    second = {"id": 1, "lang": "es", "text": "otra", "engine": "marian", "model": "opus"}
    second |= {"ms": 41.0, "agreement": 0.3}
    (entry,) = entries(
        page,
        ("caption", caption(1, "rá", 1, final=False, engine="marian")),
        ("caption", caption(1, "buena", 2)),
        ("record", record()),
        ("compare", second),
    )
    assert entry["standing"] == "final"
    assert entry["versions"] == [
        ["Marian", "rápida", 80, 800, False, None],
        ["Gemma", "buena", 600, 1400, True, None],
        ["Marian (opus)", "otra", 41, None, False, 0.3],
    ]


def test_a_draft_that_became_the_final_stands_once(page: Page) -> None:
    same = {"lang": "es", "text": "rápida", "engine": "marian"}
    (entry,) = entries(
        page,
        ("caption", caption(1, "rápida", 2, engine="marian")),
        ("record", record(final=same, final_ms=None)),
    )
    assert entry["versions"] == [["Marian", "rápida", 80, 1400, True, None]]


def test_a_marked_caption_says_the_gravest_reason_in_plain_words(page: Page) -> None:
    bad = {"quality": {"score": 0.2}, "flags": ["agreement:flag", "avg-logprob:reject"]}
    good = {"quality": {"score": 0.9}, "flags": ["estimate:flag"]}
    again = record(2, repeats=1, **good)
    doubtful, fine = entries(page, ("record", record(1, **bad)), ("record", again))
    assert doubtful["remarks"] == [
        "Not on the screens",
        "Look at it: some words may have been heard wrong",
    ]
    assert fine["remarks"] == ["Not on the screens", "↻ No. 1"]


def test_an_edit_is_on_screen_and_a_hidden_caption_is_not(page: Page) -> None:
    flags = ["agreement:reject", "new:flag"]
    edited, hidden, filtered = entries(
        page,
        ("caption", caption(1, "mía", 3, engine="operator")),
        ("record", record(1)),
        ("record", record(2)),
        ("caption", caption(2, "", 4, engine="operator")),
        ("record", record(3, filtered="no-speech", final=None, partial=None, flags=flags)),
        ("caption", caption(4, "", 5)),
    )
    assert (edited["standing"], edited["shown"]) == ("edited", "mía")
    assert [v[0] for v in edited["versions"] if v[4]] == ["Desk"]
    assert (hidden["standing"], hidden["shown"]) == ("hidden", "buena")
    assert not any(v[4] for v in hidden["versions"])
    assert filtered["standing"] == "filtered"
    assert filtered["remarks"] == ["Not shown: not speech"]


def test_the_list_is_bounded_and_an_older_revision_changes_nothing(page: Page) -> None:
    steps = [("caption", caption(number, f"t{number}", number)) for number in range(1, 40)]
    found = entries(page, *steps, ("caption", caption(39, "old", 1)), limit=5)
    assert [(entry["id"], entry["shown"]) for entry in found] == [
        (number, f"t{number}") for number in range(35, 40)
    ]


def test_a_hello_keeps_the_records_of_its_own_session_only(page: Page) -> None:
    hello = {"session": "a", "resumed": False, "captions": [caption(1, "uno", 1)]}
    steps = [("onHello", hello), ("record", record(1)), ("record", record(2))]
    again = {"session": "a", "resumed": False, "captions": [caption(2, "dos", 5)]}
    found = entries(page, *steps, ("onHello", again))
    assert [(entry["id"], entry["standing"]) for entry in found] == [(1, "hidden"), (2, "final")]
    found = entries(page, *steps, ("onHello", {**again, "session": "b"}))
    assert [(entry["id"], len(entry["versions"])) for entry in found] == [(2, 1)]
    empty = ("onHello", {**hello, "captions": []})
    assert entries(page, empty, ("caption", caption(1, "uno", 1)), empty) == []


def test_a_page_that_was_away_forgets_what_it_is_told(page: Page) -> None:
    left = run(
        page,
        "operator/utterances",
        """const kept = new m.Utterances(10);
           const times = (id) => ({ id, start_s: 10 * id, end_s: 10 * id + 5 });
           for (const id of [1, 2, 3]) kept.record({ ...times(id), filtered: "empty" });
           kept.caption({ ...times(4), seq: 1, target: { text: "x" } });
           kept.compare({ id: 5 });
           kept.forget({ from_s: 24, to_s: 50 });
           return [1, 2, 3, 4, 5].filter((id) => kept.get(id));""",
    )
    assert left == [1]


def test_the_worst_tenth_is_marked_and_a_minute_that_is_mostly_doubtful_is_told(page: Page) -> None:
    """This holds for any scale of the engine."""
    script = """const scale = new m.DoubtScale();
        const final = { engine: "gemma" };
        return v[0].map((score) => scale.marks({ final, flags: [v[1]], quality: { score } }));"""
    up_and_down = [0.3 + 0.1 * (n * 7 % 10) / 10 for n in range(100)]  # all far below any limit
    marks = run(page, "operator/doubt", script, up_and_down, "estimate:flag")
    assert 5 <= sum(marks) <= 15
    assert not any(marks[:9]), "too few to know a tenth"
    assert run(page, "operator/doubt", script, [0.9, 0.1], "agreement:reject") == [True, True]
    said = run(
        page,
        "operator/doubt",
        """const record = (n, flags) => ({ final: {}, end_s: 10 * n, flags });
           const entry = (n, ...flags) => ({ record: record(n, flags) });
           const bad = [1, 2, 3, 4].map((n) => entry(n, "avg-logprob:reject"));
           const old = bad.concat([20, 21, 22, 23].map((n) => entry(n)));
           return [bad, bad.slice(1), old, []].map(m.isMinuteDoubtful);""",
    )
    assert said == [True, False, False, False]


def test_the_level_holds_its_peak_and_warns(page: Page) -> None:
    told = run(
        page,
        "operator/meter",
        """const l = new m.Level(); const at = (ms) => [Math.round(l.peak(ms)), l.verdict(ms).tone];
           const seen = [];
           l.put({dbfs: -12, clipped: false}, 0); seen.push(at(0));
           l.put({dbfs: -30, clipped: false}, 1000); seen.push(at(1900)); seen.push(at(2500));
           l.put({dbfs: -3, clipped: true}, 3000);
           for (const ms of [3100, 5900, 6100]) seen.push(at(ms));
           l.put({dbfs: -45, clipped: false}, 10000); seen.push(at(10000));
           for (let ms = 11000; ms <= 21000; ms += 500) l.put({dbfs: -80, clipped: false}, ms);
           seen.push(at(21000)); const words = l.verdict(21000).words;
           l.rest(); seen.push(at(21000));
           return [seen, words];""",
    )
    assert told == [
        [
            [-12, "good"],
            [-12, "good"],
            [-22, "good"],
            [-3, "bad"],
            [-21, "bad"],
            [-25, "good"],
            [-45, "wait"],
            [-60, "wait"],
            [-60, "good"],
        ],
        "Silent for 11 s: is the microphone on?",
    ]


@pytest.mark.parametrize(
    ("server", "word", "tone"),
    [
        (("open", "listening", ""), "Listening", "good"),
        (("open", "speech", "sound lost"), "Speech", "wait"),
        (("open", "no-audio", "microphone lost: USB"), "Microphone lost", "bad"),
        (("open", "muted", "USB gives nothing but zeros"), "No sound", "bad"),
        (("open", "fault", "transcribe: crash"), "Fault", "bad"),
        (("open", "paused", ""), "Paused", "wait"),
        (("open", "song", "captions go on by themselves when somebody speaks"), "Song", "wait"),
        (("open", "sleeping", ""), "sleeping", "wait"),
        (("lost", "listening", ""), "Connection lost", "bad"),
        (("lost", "ended", ""), "Ended", "off"),
        (("outdated", "listening", ""), "Open this page again", "bad"),
    ],
)
def test_a_glance_says_the_state(
    page: Page, server: tuple[str, str, str], word: str, tone: str
) -> None:
    link, state, reason = server
    seen = run(
        page,
        "operator/state",
        "return m.glance(v[0])",
        {"link": link, "state": state, "reason": reason},
    )
    assert (seen["word"], seen["tone"]) == (word, tone)
    assert seen["icon"]
    if reason:
        assert seen["reason"].lower().startswith(reason.lower())
    if tone == "bad":
        assert seen["reason"].endswith(".")


def test_what_is_left_out_is_told_in_the_words_of_the_desk(page: Page) -> None:
    reasons = [f"{each} (the recognizer is late); no room" for each in REASON.values() if each]
    views = [{"link": "open", "state": "speech", "reason": reason} for reason in reasons]
    told = run(page, "operator/state", "return v.map((x) => m.glance(x).reason)", *views)
    assert told[0] == "Left out to keep up: some words while they are spoken. No room."
    assert [each for each in told if not each.startswith("Left out to keep up: ")] == []


def test_every_glance_has_an_icon_on_the_page(page: Page) -> None:
    symbols = page.evaluate(
        """async () => {
          const text = await (await fetch("/operator")).text();
          const console = new DOMParser().parseFromString(text, "text/html");
          return [...console.querySelectorAll("symbol")].map(({ id }) => id);
        }"""
    )
    views = [{"link": "open", "state": state, "reason": ""} for state in get_args(State)]
    views += [{"link": link} for link in ("connecting", "lost", "outdated")]
    icons = run(page, "operator/state", "return v.map((x) => m.glance(x).icon)", *views)
    assert {f"icon-{icon}" for icon in icons} <= set(symbols)


def test_a_refusal_says_what_to_do(page: Page) -> None:
    told = run(
        page,
        "operator/state",
        """return [
             m.refusal({code: "unknown-caption", message: "Caption 3 is not in the history."}),
             m.refusal({code: "new", message: "no such thing"}),
             m.modeNote("live")[0], m.modeNote("dry-run")[0]]""",
    )
    assert told[0] == "Caption 3 is not in the history. It is too old to be changed."
    assert told[1:3] == ["no such thing.", ""]
    assert told[3] == "Rehearsal"


def test_settings_that_were_read_again_are_told(page: Page) -> None:
    told = run(
        page,
        "operator/state",
        "return v.map(m.reloaded)",
        {"live": ["a.b", "c.d"], "next_utterance": [], "restart": ["e.f"], "rules": 3},
        {"live": [], "next_utterance": [], "restart": [], "rules": 3},
    )
    assert told == [
        "The settings were read again. a.b, c.d: holds now. e.f: holds after a new start.",
        "The settings were read again. Nothing has changed.",
    ]


def test_keys_stand_for_buttons(page: Page) -> None:
    keys = [
        {"key": "p"},
        {"key": "P", "shiftKey": True},
        {"key": "z", "ctrlKey": True},
        {"key": "z", "metaKey": True},
        {"key": "p", "ctrlKey": True},
        {"key": "p", "altKey": True},
        {"key": "Enter"},
    ]
    assert run(page, "operator/shortcuts", "return v.map(m.keyOf)", *keys) == [
        "p", "p", "u", "u", "", "", "",
    ]  # fmt: skip


def test_facts_of_the_machine_in_words(page: Page) -> None:
    health = {
        "lag_s": 6.4,
        "rung": "no-partials",
        "setback": "Gemma rests",
        "queues": {"mailbox": 2, "drafts": 1},
        "dropped": {"blocks": 3, "records": 0, "partials": 7, "drafts": 0},
        "memory_mb": 812.4,
        "uptime_s": 7500,
        "source": "USB",
    }
    found = run(page, "operator/panel", "return m.facts(v[0])", health)
    assert {term: (text, troubling) for term, text, troubling, *_ in found} == {
        "Behind the speaker": ("6.4 s", True),
        "Left out to keep up": ("words while they are spoken", True),
        "Second try": ("Gemma rests", True),
        "Waiting": ("2 to hear, 1 to translate", False),
        "Dropped": ("3 audio blocks, 7 partials", True),
        "Memory": ("812 MB", False),
        "Has run for": ("2 h 5 min", False),
        "Sound from": ("USB", False),
    }
    for_keepers = {fact[0] for fact in found if fact[3:] == [True]}
    assert for_keepers == {"Waiting", "Dropped", "Memory"}


def test_what_is_no_rule(page: Page) -> None:
    pairs = [("", "x"), ("file lemon", "Philemon"), ("a", "a"), ("...", "b"), ("the", "a")]
    found = run(
        page,
        "operator/rule_dialog",
        """return v[0].map(([heard, write]) => m.objection(heard, write))
             .map(({text, stops}) => [stops, text !== ""])""",
        pairs,
    )
    assert found == [[True, False], [False, False], [True, True], [True, True], [False, True]]
    assert run(page, "operator/rule_dialog", "return [m.bare('“Lemon.”'), m.bare(' a  b ,')]") == [
        "Lemon",
        "a b",
    ]
    places = [
        ["He, says file lemon.", "file lemon"],
        ["one - two", "two"],
        ["one", "two"],
        ["one", ""],
    ]
    found = run(page, "operator/rule_dialog", "return v[0].map(([a, b]) => m.place(a, b))", places)
    assert found == [[2, 3], [2, 2], [-1, -1], [-1, -1]]


@pytest.mark.parametrize(
    ("lang", "said", "heard", "write"),
    [
        ("es", "El nuevo {} es mejor.", "acuerdo", "pacto"),
        ("zh", "耶和华是我的{}，我必不至缺乏。", "牧者", "牧人"),
        ("th", "ขอ{}อวยพร", "พระเจ้า", "พระองค์"),
        ("hi", "वह राजा की {} है", "बात", "सेवा"),  # it ends with a vowel sign
    ],
)
def test_a_correction_implies_a_rule_of_the_words_that_it_changes(
    page: Page, lang: str, said: str, heard: str, write: str
) -> None:
    texts = said.format(heard), said.format(write)
    rule = run(page, "operator/hold_rule", "return m.ruleOf(...v)", *texts, lang)
    assert rule == {"heard": heard, "write": write}


def test_times_for_people(page: Page) -> None:
    times = run(page, "operator/row", "return v.map(m.time)", 84.2, 994.4, 996, 12340)
    assert times == ["84 ms", "994 ms", "1.0 s", "12.3 s"]
    clocks = run(page, "operator/row", "return v.map(m.clock)", 5.9, 725, 3725.2)
    assert clocks == ["0:05", "12:05", "1:02:05"]
    ages = run(
        page, "operator/check",
        "const now = Date.parse('2026-11-22T12:00:00Z'); return v[0].map((utc) => m.age(utc, now))",
        ["2026-11-22T11:30:00+00:00", "2026-11-22T07:00:00+00:00", "2026-11-19T12:00:00+00:00"],
    )  # fmt: skip
    assert json.dumps(ages).count("ago") == 2
    assert ages[0] == "Within the last hour."
    assert ages[2].startswith("3 days ago")


@pytest.mark.parametrize(
    ("address", "reachable"),
    [
        ("http://192.168.1.20:8765/", True),
        ("https://captions.example.org/", True),
        ("http://127.0.0.1:8765/", False),
        ("http://localhost:8765/", False),
        ("http://[::1]:8765/", False),
    ],
)
def test_phones_cannot_open_this_machines_own_address(
    page: Page, address: str, reachable: bool
) -> None:
    assert (run(page, "shared/address", "return m.unreachable(v[0])", address) == "") is reachable


def test_a_muted_microphone_and_a_dark_wall_are_noticed_after_a_while(page: Page) -> None:
    told = page.evaluate(
        """async () => {
          const { Watch } = await import("/js/operator/reminder.js");
          const wall = (clients) => [{ kind: "projector", clients }];
          const seconds = (watch, state, from, to) => {
            let told = "";
            for (let s = from; s <= to; s += 1) told = watch.look(state, s * 1000);
            return told;
          };
          const watch = new Watch();
          watch.displays(wall(0));
          const never = seconds(watch, "speech", 0, 60);  // no wall was there: none is missed
          watch.displays(wall(1));
          const lit = seconds(watch, "speech", 61, 120);
          watch.displays(wall(0));
          const quiet = seconds(watch, "listening", 121, 180);
          const soon = seconds(watch, "speech", 181, 195);
          const dark = seconds(watch, "speech", 196, 205);
          watch.displays(wall(1));
          const back = watch.look("speech", 206000);
          const muted = [seconds(watch, "muted", 207, 220), seconds(watch, "muted", 221, 228)];
          return [never, lit, quiet, soon, dark, back, ...muted, watch.look("listening", 229000)];
        }"""
    )
    assert told == ["", "", "", "", "wall", "", "", "muted", ""]
