import pytest

from pipeline.church.fidelity.given_text import given
from pipeline.config.schema import Church


def test_translators_get_references_as_they_are_printed() -> None:
    said = "Read Romans eight twenty-eight again."
    assert given(said, "en") == "Read Romans 8:28 again."
    assert given(said, "de") == said
    # Small translators make "Romanos 911" of "Romans 9-11".
    assert given("Read chapters 9-11 of Romans.", "en") == "Read Romans 9 to 11."
    assert given(said, "en", Church(references=False)) == said


@pytest.mark.parametrize(
    ("said", "written"),
    [
        ("It was nineteen forty-one.", "It was 1941."),
        ("A couple of hundred came.", "About 200 came."),
        ("About half a million people fled.", "About 500,000 people fled."),
        ("We start at a quarter to nine.", "We start at 8:45."),
        ("Meet at ten to seven. It's twenty to ten.", "Meet at 6:50. It's 9:40."),
        ("It went up by fifteen percent.", "It went up by 15 percent."),
        ("We gave four thousand, three hundred and fifty-two meals.", "We gave 4352 meals."),
        ("Eighteen thousand five hundred dollars.", "18,500 dollars."),
        (
            "A $500 check, $20 bills, $1 more.",
            "A 500-dollar check, 20-dollar bills, 1 dollar more.",
        ),
        (
            "We paid a $75 fee, all in $1 bills.",
            "We paid a 75-dollar fee, all in one-dollar bills.",
        ),
        ("Come at 9 a clock.", "Come at 9 o'clock."),
        ("There's like 230 of you, and I'm 34.", "There's about 230 of you, and I'm 34 years old."),
        (
            "Supper is at 630, study from 7.15 until 8.30.",
            "Supper is at 6:30, study from 7:15 until 8:30.",
        ),
        (
            "We ran out at 10 til 6, and 9.41 in the morning.",
            "We ran out at 5:50, and 9:41 in the morning.",
        ),
        ("$0.10 of it, and 50 more.", "10 cents of it, and 50 more."),
        (
            "He is the 7th of 9 children, in the 2nd grade.",
            "He is the seventh of 9 children, in the second grade.",
        ),
        ("The 2nd Sunday in Room 214.", "The second Sunday in room 214."),
        ("In the 0th century.", "In the 0th century."),
        ("Good morning, Church.", "Good morning, church."),
        ("Ask misses. Henderson.", "Ask Mrs. Henderson."),
        (
            "We spent $18,500 and $2.5 million.",
            "We spent 18,500 dollars and 2.5 million dollars.",
        ),
        ("There were 300 and 40 people, 500 and 6 chairs.", "There were 340 people, 506 chairs."),
        ("About two billion people.", "About 2000 million people."),
        ("Back in the eighteen nineties.", "Back in the years 1890."),
        ("In the eighteen hundreds.", "In the years 1800."),
        ("Our two hundredth year.", "Our 200th year."),
        ("A fever of a hundred and four point two.", "A fever of 104.2."),
        ("Two point five million of 8 billion.", "2.5 million of 8 billion."),
        ("The twenty-first of May.", "The 21st of May."),
        ("Nine out of ten pastors.", "9 out of 10 pastors."),
    ],
)
def test_translators_get_numbers_in_digits(said: str, written: str) -> None:
    assert given(said, "en") == written
    assert given(said, "en", Church(numbers=False)) == said


@pytest.mark.parametrize(
    "said",
    [
        "One of you will wait a second.",
        "A thousand thanks, and twenty-twenty vision.",
        "My flight is three sixteen to Denver.",
        "Thirty-three years and two million people.",
        "A thousand billion stars.",
        "We lost ten to seven, at five to ten stores.",
        "No one in seven came.",
        "It was between 300 and 40 years ago.",
        "Bake it at 350 degrees, at 1220 Main Street, for 2.50 dollars.",
        "The 4th of July, the 5th and 6th of May, the 3rd of next month, March 7th we met.",
    ],
)
def test_what_is_no_number_or_is_translated_well_stays(said: str) -> None:
    assert given(said, "en") == said


@pytest.mark.parametrize(
    ("said", "turned"),
    [
        ("Bring them home, Lord.", "Lord, bring them home."),
        ("You know. And open doors, God, and help.", "You know. And God, open doors, and help."),
        ("He said, Bring it, Lord.", "He said, Bring it, Lord."),
        ("Be with Tom, God's man.", "Be with Tom, God's man."),
        ("We thank you, Father.", "We thank you, Father."),
    ],
)
def test_a_prayer_names_god_first(said: str, turned: str) -> None:
    assert given(said, "en") == turned
    assert given("Tráelos a casa, Señor.", "es") == "Tráelos a casa, Señor."
