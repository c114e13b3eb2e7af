"""A page of buttons, as Companion's own format of version 4 has it."""

from __future__ import annotations

import json

from pipeline.cli.commands.desk import page


def test_each_button_has_a_place_and_gets_its_address() -> None:
    addresses = {f"do-{number}": f"http://10.0.0.5:8765/do/{number}" for number in range(35)}
    made = json.loads(page("Deck", addresses))
    assert (made["version"], made["type"], made["page"]["name"]) == (4, "page", "Deck")
    (connection,) = made["instances"]
    assert made["instances"][connection]["instance_type"] == "generic-http"
    rows = made["page"]["controls"]
    assert {row: [*columns] for row, columns in rows.items()} == {
        **{str(row): [*"01234567"] for row in range(4)},
        "4": [*"012"],
    }
    grid = made["page"]["gridSize"]
    assert (grid["maxColumn"], grid["maxRow"]) == (7, 4)
    actions = []
    for button in (each for columns in rows.values() for each in columns.values()):
        assert button["type"] == "button"
        actions += button["steps"]["0"]["action_sets"]["down"]
    assert {(each["instance"], each["action"]) for each in actions} == {(connection, "get")}
    assert [each["options"]["url"] for each in actions] == [*addresses.values()]
    assert len({each["id"] for each in actions}) == len(addresses)
    assert rows["0"]["3"]["style"]["text"] == "do 3"
