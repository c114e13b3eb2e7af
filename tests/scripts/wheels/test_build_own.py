"""The program's own wheels: what they need, and what they contain."""

from __future__ import annotations

from scripts.wheels.build_own import PLACE, composed

ABOUT = """\
Metadata-Version: 2.4
License-Expression: Apache-2.0
Requires-Dist: numpy>=1
Requires-Dist: pypdf>=6; extra == 'notes'
Provides-Extra: notes

Requires-Dist: is not a line of the description.
"""
LOCK = """\
llama-cpp-python==0.3.36 \\
    --hash=sha256:aa
numpy==2.4.6 ; python_full_version < '3.12' \\
    --hash=sha256:bb
"""
OWN = {
    "own-1.dist-info/METADATA": ABOUT.encode(),
    "own-1.dist-info/WHEEL": b"Tag: py3-none-any",
    "pipeline/a.py": b"",
}


def test_it_needs_what_is_locked_and_keeps_its_extras() -> None:
    about = composed(OWN, LOCK, "py3-none-any", {})["own-1.dist-info/METADATA"].decode()
    head, _, description = about.partition("\n\n")
    assert [line for line in head.splitlines() if "Requires" in line] == [
        "Requires-Dist: pypdf>=6; extra == 'notes'",
        "Requires-Dist: llama-cpp-python==0.3.36",
        "Requires-Dist: numpy==2.4.6 ; python_full_version < '3.12'",
    ]
    assert description.startswith("Requires-Dist: is not")


def test_what_it_carries_it_does_not_need() -> None:
    made = composed(OWN, LOCK, "py3-none-manylinux_2_28_x86_64", {"llama_cpp/x.so": b"ELF"})
    about = made["own-1.dist-info/METADATA"].decode()
    assert "llama-cpp-python" not in about
    assert "LLVM-exception" in about
    assert made[f"{PLACE}llama_cpp/x.so"] == b"ELF"
    kind = made["own-1.dist-info/WHEEL"].decode()
    assert kind.endswith("Root-Is-Purelib: false\nTag: py3-none-manylinux_2_28_x86_64\n")
