"""A summary contains only text that was on the screens, and says where it was."""

from __future__ import annotations

from dataclasses import replace

from pipeline.captions.export import summary
from pipeline.core.types import Verse
from scripts.support.journal import message

CENTRAL = "Quien confiesa su pecado recibe la gracia y el perdón de Dios."
TOLD = [
    "Buenos días a todos, y gracias por venir con esta lluvia.",
    "La gracia de Dios alcanza a quien confiesa su pecado delante de Él.",
    "El aparcamiento del fondo está cerrado hasta el domingo que viene.",
    CENTRAL,
    "Amén.",
    "Mi abuela guardaba las llaves en una lata azul de galletas.",
]


def test_of_each_part_the_sentence_that_is_most_about_the_service() -> None:
    messages = [message(key, "said", text) for key, text in enumerate(TOLD * 8, 1)]
    lines = summary(messages, "target", "22 November 2026").splitlines()
    assert lines[0] == "# 22 November 2026"
    sentences = [line for line in lines if line.startswith("- ")]
    assert sentences[0] == f"- {CENTRAL} (No. 4, 0:40)"
    assert 1 < len(sentences) <= 8
    for line in sentences:
        text, _, place = line.removeprefix("- ").rpartition(" (No. ")
        number = int(place.partition(",")[0])
        assert messages[number - 1].target.text == text
        assert text != "Amén."
    assert len({line.rpartition(" (No.")[0] for line in sentences}) == len(sentences)


def test_chinese_has_no_spaces_and_is_weighed_as_well() -> None:
    central = "承认罪的人得着神的恩典和赦免。"
    told = ["今天天气很好大家早上好。", "神的恩典临到承认自己罪的人。", central]
    told += ["停车场关闭到下个星期天为止。", "我的祖母把钥匙放在蓝色的盒子里。"]
    apart = [message(key, "said", text, lang="zh") for key, text in enumerate(told * 4, 1)]
    assert f"own words\n\n- {central} (No. 3, 0:30)" in summary(apart, "target", "A day")
    # A caption of several sentences is too long to be quoted whole.
    made = summary([message(1, "said", "".join(told), lang="zh")], "target", "A day")
    assert f"- {central} (No. 1, 0:10)" in made


def test_verses_are_named_and_what_is_hidden_doubtful_or_another_language_is_left_out() -> None:
    verse = Verse("Juan 3:16", "Porque de tal manera amó Dios al mundo.", "rv1909", "es")
    kept = message(1, "said", TOLD[0])
    messages = [
        replace(kept, verse=verse),
        replace(message(2, "said", TOLD[1]), doubtful=True),
        message(3, "", "", engine="operator"),
        message(4, "The spoken words stand in for it here, all of them.", "", lang="en"),
        message(5, "said", "The spoken words stand in for it here, all of them.", lang="en"),
        message(6, "said", TOLD[5]),
        message(7, "said", TOLD[2]),
    ]
    made = summary(messages, "target", "A day")
    assert "## Verses\n\n- Juan 3:16 (No. 1, 0:10)\n" in made
    assert TOLD[0] not in made, "the verse was on the screens"
    assert TOLD[1] not in made
    assert "stand in" not in made
    assert f"- {TOLD[5]} (No. 6, 1:00)" in made


def test_of_a_service_without_a_sentence_only_the_title_is_left() -> None:
    made = summary([message(1, "Grace", "Gracia")], "target", "A day")
    assert [line for line in made.splitlines() if line.startswith(("-", "##"))] == []
