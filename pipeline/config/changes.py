"""When a setting takes effect that is changed while the daemon runs: every key of config.toml."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

from pipeline.config.loader import leaves
from pipeline.config.schema import Settings

Effect: TypeAlias = Literal["live", "next-utterance", "restart"]

# Keys that a validator looks at together stand in one class, so that what is put in force without
# the others is valid.
_KEYS: Mapping[Effect, str] = {
    "live": """
        dictionary.enabled dictionary.file dictionary.watch_s
        log.format log.level
        operator.off_record_s
        server.address server.history server.max_clients server.max_per_address
        session.drain_s session.keep_days session.keep_mb
    """,
    "next-utterance": """
        stt.avg_logprob stt.compression_ratio stt.hotwords stt.no_speech_prob
        translate.final.deadline_s translate.final.stream
        vad.end_threshold vad.max_utterance_s vad.min_speech_ms vad.partial_ms vad.pre_roll_ms
        vad.silence_ms vad.threshold
    """,
    "restart": """
        audio.channel audio.device audio.input audio.pace
        engines.growth_mb engines.hang_s
        models.directory
        operator.token
        server.host server.ping_s server.port server.tls_cert server.tls_key
        session.directory session.resume_s
        stt.compute_type stt.device stt.model stt.threads stt.window_s stt.word_probabilities
        translate.compare.batch translate.compare.compute_type translate.compare.context
        translate.compare.deadline_s translate.compare.engine translate.compare.flash_attention
        translate.compare.gpu_layers translate.compare.model translate.compare.prompt
        translate.compare.threads
        translate.final.batch translate.final.context translate.final.draft translate.final.engine
        translate.final.flash_attention translate.final.gpu_layers translate.final.model
        translate.final.prompt translate.final.threads
        translate.partial.compute_type translate.partial.engine translate.partial.model
        translate.partial.threads
        translate.source translate.target
    """,
}
EFFECT: Mapping[str, Effect] = {
    key: effect for effect, keys in _KEYS.items() for key in keys.split()
}
"""By key path."""


@dataclass(frozen=True, slots=True)
class Changes:
    """Key paths whose values differ, sorted, by when they take effect."""

    live: tuple[str, ...]
    next_utterance: tuple[str, ...]
    restart: tuple[str, ...]


def changes(in_force: Settings, wanted: Settings) -> Changes:
    """Return what differs between two settings."""
    old, new = dict(leaves(in_force.model_dump())), dict(leaves(wanted.model_dump()))
    differ = sorted(key for key in new if new[key] != old[key])

    def of(effect: Effect) -> tuple[str, ...]:
        return tuple(key for key in differ if EFFECT[key] == effect)

    return Changes(of("live"), of("next-utterance"), of("restart"))
