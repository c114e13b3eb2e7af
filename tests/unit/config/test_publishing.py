from __future__ import annotations

import pytest

from pipeline.config.loader import load
from pipeline.core.errors import ConfigError


@pytest.mark.parametrize(
    "url", ["", "nats://captions.example.org", "nats://user:pass@10.0.0.1:4222", "tls://host:4443"]
)
def test_addresses_of_servers_are_taken(url: str) -> None:
    assert load(flags={"publish.nats": url}).settings.publish.nats == url


@pytest.mark.parametrize(
    "url", ["captions.example.org", "http://host", "nats://", "nats://host:0", "nats://a b"]
)
def test_other_words_are_refused_with_an_example(url: str) -> None:
    with pytest.raises(ConfigError, match=r"nats://captions\.example\.org:4222"):
        load(flags={"publish.nats": url})


@pytest.mark.parametrize("church", ["", "st.paul", "a b", "*", ">"])
def test_a_church_is_one_word_that_nats_takes(church: str) -> None:
    with pytest.raises(ConfigError, match="church"):
        load(flags={"publish.church": church})
