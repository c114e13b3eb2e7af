from pipeline.church.fidelity.given_text import given


def test_translators_get_references_as_they_are_printed() -> None:
    said = "Read Romans eight twenty-eight again."
    assert given(said, "en") == "Read Romans 8:28 again."
    assert given(said, "de") == said
