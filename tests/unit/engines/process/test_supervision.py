"""What follows an engine's death."""

from __future__ import annotations

from pipeline.engines.process.supervision import Decision, Supervision
from pipeline.models.crash_history import LOAD_CRASHES


def serve(
    supervision: Supervision, from_s: float, to_s: float, *, on_gpu: bool = False
) -> Decision:
    supervision.loaded(from_s)
    return supervision.died(to_s, on_gpu=on_gpu)


def test_a_first_death_is_followed_by_a_new_process_at_once_and_more_by_longer_waits() -> None:
    supervision = Supervision()
    waits = [serve(supervision, n * 10.0, n * 10.0 + 1).delay_s for n in range(10)]
    assert waits == [0, 1, 2, 4, 8, 16, 32, 60, 60, 60]


def test_after_a_calm_time_earlier_deaths_no_longer_count() -> None:
    supervision = Supervision()
    assert [serve(supervision, 0.0, 1.0).delay_s for _ in range(3)] == [0, 1, 2]
    assert serve(supervision, 10.0, 200.0).delay_s == 0


def test_a_model_that_crashes_three_times_while_it_loads_is_given_up() -> None:
    supervision = Supervision()
    decisions = [supervision.died(float(n), on_gpu=False) for n in range(LOAD_CRASHES)]
    assert [d.delay_s for d in decisions] == [1, 2, 0]
    assert [d.given_up for d in decisions] == [False, False, True]


def test_only_load_crashes_in_a_row_count() -> None:
    supervision = Supervision()
    for _ in range(5):
        assert not supervision.died(0.0, on_gpu=False).given_up
        assert not supervision.died(0.0, on_gpu=False).given_up
        serve(supervision, 1.0, 2.0)


def test_on_a_gpu_the_same_is_tried_once_more_then_less_of_it_then_none() -> None:
    supervision = Supervision((1.0, 0.5, 0.0))
    seen = []
    for n in range(6):
        on_gpu = supervision.gpu_share > 0
        decision = serve(supervision, 10.0 * n, 10.0 * n + 1, on_gpu=on_gpu)
        seen.append((supervision.gpu_share, decision.less_gpu, decision.delay_s))
    assert seen == [
        *((1.0, False, 0), (0.5, True, 0), (0.5, False, 0), (0.0, True, 0)),
        *((0.0, False, 0), (0.0, False, 1)),
    ]


def test_a_calm_time_on_a_gpu_earns_another_try_but_no_layers_back() -> None:
    supervision = Supervision((1.0, 0.5, 0.0))
    serve(supervision, 0, 1, on_gpu=True)
    assert serve(supervision, 2, 3, on_gpu=True).less_gpu
    assert not serve(supervision, 10, 1000, on_gpu=True).less_gpu
    assert not serve(supervision, 1001, 2000, on_gpu=True).less_gpu
    assert supervision.gpu_share == 0.5


def test_a_model_that_crashes_as_it_is_loaded_onto_a_gpu_is_tried_without_in_the_end() -> None:
    supervision = Supervision((1.0, 0.5, 0.0))
    shares = []
    while not supervision.given_up:
        shares.append(supervision.gpu_share)
        supervision.died(0.0, on_gpu=supervision.gpu_share > 0)
    assert shares == [1.0, 1.0, 0.5, 0.5, 0.0, 0.0, 0.0]
