"""Figures of speech reach a translator in plain words, in their spoken form."""

import re
import tomllib
from pathlib import Path

import pytest

from pipeline.church.fidelity.idioms import plainly
from pipeline.core.resources import bundled

FILES = sorted(bundled("languages", "idioms").glob("*.toml"))


PLAIN = {
    "a verb keeps its form": [
        ("He spilled the beans.", "He revealed the secret."),
        ("Don’t spill the beans.", "Don’t reveal the secret."),
        ("Hang in there, church.", "Persevere, church."),
        ("He is near. For God so loved the world.", "He is near. Because God so loved the world."),
        ("They've put their foot in their mouth.", "They've said something stupid."),
        ("She put her foot in her mouth.", "She said something stupid."),
        ("You will put your foot in your mouth.", "You will say something stupid."),
        ("He keeps putting his foot in his mouth.", "He keeps saying something stupid."),
        ("He cries over spilled milk.", "He laments what cannot be changed."),
        ("We are withering, he withers.", "We are drying up, he dries up."),
        ("Do not grieve the Holy Spirit.", "Do not sadden the Holy Spirit."),
        (
            "They grieve the loss, and he put off the trip.",
            "They weep for the loss, and he postponed the trip.",
        ),
        ("She drops out of school.", "She leaves school."),
        ("They were talking Al into it.", "They were persuading Al to do it."),
        ("Let's cut to the chase.", "Let's say the important thing."),
        ("She had to put her foot down.", "She had to insist."),
        ("How did he put up with us?", "How did he tolerate us?"),
        ("We can't quite put our foot down.", "We can't quite insist."),
        ("I am turning over a new leaf.", "I am beginning a new life."),
    ],
    "who and what is meant stays": [
        ("It gets under John's skin.", "It annoys John."),
        ("It gets under my skin.", "It annoys me."),
        ("It slipped her mind to pray.", "She forgot to pray."),
        ("Nip this gossip in the bud.", "Stop this gossip at the beginning."),
        ("That went over our heads.", "That was too difficult for us."),
        ("Those went over their heads.", "Those were too difficult for them."),
        ("We raised 18,500 dollars.", "We collected 18,500 dollars."),
        ("He took the elders at their word.", "He believed the elders."),
        ("It dawned on Jacob that he slept.", "Jacob realized that he slept."),
        ("Stop beating yourself up over it.", "Stop blaming yourself for it."),
        ("It's your call.", "You must decide."),
        ("Lift up the Johnson family in prayer.", "Pray for the Johnson family."),
        ("She put her career on the line.", "She risked her career."),
    ],
    "the words around it decide": [
        ("He sobbed, and we sob.", "He wept bitterly, and we weep bitterly."),
        ("She has been sobbing to sob.", "She has been weeping bitterly to weep bitterly."),
        ("The sob is over.", "The sob is over."),
        ("Ransom is a word, and it is just gossip.", "Ransom is a word, and it is just gossip."),
        ("She felt hopeless, a hopeless case.", "She felt without hope, a hopeless case."),
        ("The homeless came.", "The homeless came."),
        ("Whispers came, and the anointed one.", "Whispers came, and the anointed one."),
        ("What on earth did he do?", "What did he do?"),
        ("Let's wrap up with the last verse.", "Let's finish with the last verse."),
        ("In every season of your life.", "In every time of your life."),
        ("She walked out on her family.", "She abandoned her family."),
        (
            "I don't get by, and the numbers don't add up.",
            "I don't get by, and the numbers don't make sense.",
        ),
        ("He is hopeless.", "He is without hope."),
        ("He's hopeless.", "He's without hope."),
        ("He is not hopeless.", "He is not hopeless."),
        ("She was so hopeless.", "She was so hopeless."),
        ("The church's hopeless.", "The church's hopeless."),
    ],
    "plain words fit their sentence": [
        ("He is a stubborn man.", "He is an obstinate man."),
        ("She had an unhelpful idea.", "She had a useless idea."),
        ("They saw eye-to-eye.", "They agreed."),
        ("Plan A immediately is fake.", "Plan A immediately is false."),
        ("We prayed. Weary people came.", "We prayed. Tired people came."),
        ("I am grieved, and they were grieved.", "I am very sad, and they were very sad."),
        ("He will surely thrust you out.", "He will surely push you out."),
    ],
}


@pytest.mark.parametrize(("said", "plain"), [each for table in PLAIN.values() for each in table])
def test_a_figure_of_speech_is_said_plainly_and_fits(said: str, plain: str) -> None:
    assert plainly(said, "en") == plain
    assert plainly(said, "de") == said, "a language without a file"


@pytest.mark.parametrize(
    "said",
    [
        "They let him down through the roof on a mat.",
        "I can't stand up to say it.",
        "Absalom stood by the city gate.",
        "The ship broke on the rocks.",
        "She hung out the wash.",
        "They raised our rent by 40 dollars.",
        "He came on his own donkey.",
        "He looked up to heaven, and the Lord looked down on us.",
        "Put off the old man; his clothes caught on fire.",
        "A house that can't stand. Heaven and earth will pass away.",
        "He sold all he possessed. I ate a piece of cake.",
        "There are a handful of people. Be sober, be vigilant.",
        "The bush burned, and the milk was spilled.",
        "The dust didn't settle for a week, and my phone was on hold.",
        "I will heal their backsliding. The ark was borne with staves.",
        "Slip up your hand. The coins slipped through the cracks in the floor.",
        "She picked up on the first ring, and he talked down the stairs.",
        "He turned his back on the crowd and walked out on the water.",
        "The gift was wrapped up, and the room was messed up.",
        "She put her hands together and prayed. They went up in smoke.",
        "Please stand up for the reading of God's word.",
        "Put off anger and malice.",
        "He was praying from nine to five.",
        "They live for God.",
        "For God alone my soul waits.",
        "Joseph came up with Moses.",
        "Fill the waters in the seas.",
        "They pitched in Rephidim.",
        "They stood by him under the tree.",
        "Stars dropped out of the sky.",
        "Naomi has come back out of Moab.",
        "He will not speak on his own.",
        "He walked us through the Red Sea.",
        "The first man was made a living soul.",
        "My friend Dusty and I came.",
        "I preached in Loyal, Wisconsin.",
    ],
)
def test_what_is_meant_literally_is_left_alone(said: str) -> None:
    assert plainly(said, "en") == said


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_every_line_can_be_used(file: Path) -> None:
    """The replacement has no placeholder that the idiom lacks, and contains no idiom."""
    tables = tomllib.loads(file.read_text("utf-8"))
    lines = tables["idioms"] | tables["predicates"]
    assert len(lines) > 400
    lang = file.stem
    for said, plain in lines.items():
        brought = set(re.findall(r"WHOM|WHOSE|NUMBER|\.\.\.", said))
        wanted = {
            "WHOM" if each == "WHO" else each for each in re.findall(r"WHO\w*|NUMBER|\.\.\.", plain)
        }
        if "WHOSE" in brought:
            brought.add("WHOM")
        assert wanted <= brought, said
        assert ("~" in plain) <= ("~" in said), said
        bare = re.sub(r"~|WHO\w*|NUMBER|\.\.\.", "x", plain)
        assert plainly(bare, lang) == bare, said
