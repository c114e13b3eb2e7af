from __future__ import annotations

from pipeline.daemon.desk.undo import _MOST, Undo


def test_what_was_done_to_captions_that_are_gone_is_forgotten() -> None:
    undo, taken = Undo(), list[str]()
    for number, name in enumerate(("a", "b", "c")):
        key = None if name == "b" else number
        undo.push(name, lambda name=name: taken.append(name), key)  # type: ignore[misc]
    undo.forget_captions({2, 3})
    assert undo.says == "b"
    undo.forget_captions({0})
    while undo.says:
        undo.take_back()
    assert taken == ["b"]


def test_only_so_many_are_remembered() -> None:
    undo, taken = Undo(), list[int]()
    for number in range(_MOST + 5):
        undo.push(str(number), lambda number=number: taken.append(number))  # type: ignore[misc]
    while undo.says:
        undo.take_back()
    assert taken == list(reversed(range(5, _MOST + 5)))


def test_what_was_taken_back_otherwise_is_forgotten() -> None:
    undo, taken = Undo(), list[str]()
    for name in ("pause", "edit", "pause"):
        undo.push(name, lambda name=name: taken.append(name))  # type: ignore[misc]
    undo.forget("blank")
    undo.forget("pause")
    assert undo.says == "edit"
    undo.take_back()
    undo.take_back()
    assert (taken, undo.says) == (["edit", "pause"], "")
