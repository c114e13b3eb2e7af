from __future__ import annotations

from typing import get_args

from prometheus_client.parser import text_string_to_metric_families

from pipeline.core.metrics import ENGINE_GAUGES, ENGINE_TOTALS, Metrics
from pipeline.core.types import KINDS, State


def samples(metrics: Metrics) -> dict[tuple[str, str], float]:
    """Read the text as Prometheus does: (name, values of its labels by label name) -> value."""
    text = metrics.exposition().decode()
    return {
        (sample.name, ",".join(value for _, value in sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def test_names_and_labels_are_those_that_dashboards_use() -> None:
    metrics = Metrics()
    metrics.utterances.inc()
    metrics.captions.labels(kind="final", engine="gemma").inc()
    metrics.filtered.labels(reason="repetition").inc()
    metrics.corrections.inc(2)
    metrics.stage.labels(stage="transcribe").observe(0.3)
    metrics.latency.labels("final").observe(1.2)
    metrics.glass.labels(kind="projector").observe(0.03)
    metrics.clients.labels(kind="obs").inc()
    metrics.slow_clients.inc()
    metrics.client_errors.labels(code="bad-json").inc()
    metrics.dropped.labels(queue="capture").inc(3)
    metrics.queue_depth.labels(queue="translate").set(4)
    metrics.engine_errors.labels(stage="translate").inc()
    read = samples(metrics)
    assert read["stark_utterances_total", ""] == 1
    assert read["stark_captions_total", "gemma,final"] == 1
    assert read["stark_filtered_total", "repetition"] == 1
    assert read["stark_corrections_total", ""] == 2
    assert read["stark_stage_seconds_count", "transcribe"] == 1
    assert read["stark_last_syllable_to_caption_seconds_sum", "final"] == 1.2
    assert read["stark_last_syllable_to_caption_seconds_bucket", "1.0,final"] == 0
    assert read["stark_last_syllable_to_caption_seconds_bucket", "1.5,final"] == 1
    assert read["stark_glass_seconds_count", "projector"] == 1
    assert [read["stark_clients", kind] for kind in KINDS] == [
        float(kind == "obs") for kind in KINDS
    ]
    assert read["stark_slow_clients_total", ""] == 1
    assert read["stark_client_errors_total", "bad-json"] == 1
    assert read["stark_dropped_total", "capture"] == 3
    assert read["stark_queue_depth", "translate"] == 4
    assert read["stark_engine_errors_total", "translate"] == 1


def test_every_name_begins_alike() -> None:
    families = text_string_to_metric_families(Metrics().exposition().decode())
    assert all(family.name.startswith("stark_") for family in families)


def test_exactly_one_state_is_on() -> None:
    metrics = Metrics()
    assert samples(metrics)["stark_state", "starting"] == 1
    metrics.set_state("behind")
    read = samples(metrics)
    assert {state: read["stark_state", state] for state in get_args(State)} == {
        state: float(state == "behind") for state in get_args(State)
    }


def test_drops_are_totals_of_which_the_growth_is_counted() -> None:
    metrics = Metrics()
    metrics.queues({"mailbox": 3}, {"blocks": 2})
    metrics.queues({"mailbox": 1}, {"blocks": 2, "records": 1})
    metrics.queues({"mailbox": 0}, {"blocks": 5, "records": 1})
    metrics.queues({"mailbox": 0}, {"blocks": 4, "records": 1})  # a new process counts anew
    read = samples(metrics)
    assert read["stark_queue_depth", "mailbox"] == 0
    assert read["stark_dropped_total", "blocks"] == 5
    assert read["stark_dropped_total", "records"] == 1


def figures(**values: float | None) -> dict[str, float | None]:
    return dict.fromkeys((*ENGINE_GAUGES, *ENGINE_TOTALS), 0.0) | values


def test_an_engine_s_totals_are_counted_once_and_what_nobody_can_tell_is_left_out() -> None:
    metrics = Metrics()
    metrics.engine(
        "final", figures(generated_tokens=40, gpu_busy_ratio=0.5, tokens_per_second=None)
    )
    metrics.engine("final", figures(generated_tokens=55, gpu_busy_ratio=None, memory_bytes=7.0))
    metrics.engine("final", figures(generated_tokens=55, gpu_busy_ratio=None, memory_bytes=8.0))
    metrics.engine("stt", figures(generated_tokens=0))
    for busy_s in (5.02, 5.01):
        metrics.engine("partial", figures(busy_seconds=busy_s))
    read = samples(metrics)
    assert read["stark_engine_busy_seconds_total", "partial"] == 5.02, "a total never goes down"
    assert read["stark_engine_generated_tokens_total", "final"] == 55
    assert read["stark_engine_generated_tokens_total", "stt"] == 0
    assert read["stark_engine_memory_bytes", "final"] == 8
    assert ("stark_engine_gpu_busy_ratio", "final") not in read, "it is on no GPU any more"
    assert read["stark_engine_tokens_per_second", "final"] == 0
