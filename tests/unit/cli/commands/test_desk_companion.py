"""A page of buttons in version 4 of Companion's own format."""

from __future__ import annotations

import json

from pipeline.cli.commands.desk import page


def test_each_button_has_a_place_and_gets_its_address() -> None:
    addresses = {f"do-{number}": f"http://10.0.0.5:8765/do/{number}" for number in range(35)}
    parsed = json.loads(page("Deck", addresses))
    assert (parsed["version"], parsed["type"], parsed["page"]["name"]) == (4, "page", "Deck")
    (connection,) = parsed["instances"]
    assert parsed["instances"][connection]["instance_type"] == "generic-http"
    rows = parsed["page"]["controls"]
    assert {row: [*columns] for row, columns in rows.items()} == {
        **{str(row): [*"01234567"] for row in range(4)},
        "4": [*"012"],
    }
    grid = parsed["page"]["gridSize"]
    assert (grid["maxColumn"], grid["maxRow"]) == (7, 4)
    actions = []
    for button in (each for columns in rows.values() for each in columns.values()):
        assert button["type"] == "button"
        actions += button["steps"]["0"]["action_sets"]["down"]
    assert {(each["instance"], each["action"]) for each in actions} == {(connection, "get")}
    assert [each["options"]["url"] for each in actions] == [*addresses.values()]
    assert len({each["id"] for each in actions}) == len(addresses)
    assert rows["0"]["3"]["style"]["text"] == "do 3"
