"""Trials in order, with scripted figures and with the real starter engines."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from pipeline.config.loader import changed, leaves
from pipeline.config.schema import Settings
from pipeline.core.errors import EngineError, ModelError
from pipeline.core.resources import bundled
from pipeline.models.registry import Role
from pipeline.tuning import trials
from pipeline.tuning.plan import Figures, Gpu, Machine, Step, Trial, Values
from pipeline.tuning.trials import Tuning
from pipeline.tuning.workload import Job, Work
from tests.support.needs import needs_file

GIB = 1 << 30
MACHINE = Machine("a machine", cores=4, ram_bytes=16 * GIB, ram_free_bytes=12 * GIB)


class Scripted(Tuning):
    """Runs no engine: `takes` returns how busy one would be, or None if it does not work."""

    def __init__(
        self,
        takes: Callable[[Values, int], float | None],
        machine: Machine = MACHINE,
        keys: Values = {},  # noqa: B006
    ) -> None:
        settings = changed(Settings(), keys)
        self.begun: list[Values] = []
        super().__init__(
            settings, machine, limit_s=1, begin=lambda _, values: self.begun.append(values)
        )
        self.takes = takes
        self.times: dict[Any, int] = {}

    def _work(self, role: Role) -> Work:
        return Work((), 1.0)

    def _try(self, role: Role, values: Values, work: Work) -> Trial:
        key = tuple(sorted(values.items()))
        self.times[key] = self.times.get(key, 0) + 1
        busy = self.takes(values, self.times[key])
        if busy is None:
            self._error = ModelError("model-broken", "It does not work.")
            return Trial(role, values, problem="It does not work.")
        return Trial(role, values, Figures(busy, busy, busy))

    def result(self, role: Role) -> Values:
        """Try everything and return what was chosen."""
        list(self.run(role))
        return self.chosen[role].values


def test_each_step_goes_on_with_what_the_one_before_chose() -> None:
    tuning = Scripted(lambda v, _: 1 / float(v["stt.threads"]))
    assert tuning.result("stt") == {
        "stt.device": "cpu",
        "stt.compute_type": "int8",
        "stt.threads": 4,
    }
    assert all(trial.values["stt.threads"] == 4 for trial in tuning.trials[4:])


def test_nothing_is_measured_twice_without_a_reason() -> None:
    tuning = Scripted(lambda *_: 0.5, keys={"translate.final.draft": 0})
    tuning.result("gemma")
    assert set(tuning.times.values()) == {1}
    assert len(tuning.begun) == len(tuning.times)
    assert len(tuning.trials) > len(tuning.times), "what was tried before is told once more"


def test_what_is_set_now_is_given_up_only_for_what_wins_twice() -> None:
    """The first measurement at 4 threads was luck, or the first one at 2 was disturbed."""

    def lucky(values: Values, turn: int) -> float:
        return 0.2 if values["translate.partial.threads"] == 4 else (0.4 if turn == 1 else 0.2)

    now = {"translate.partial.threads": 2}
    tuning = Scripted(lucky, keys=now)
    assert tuning.result("marian") == {"translate.partial.threads": 2}
    measured = [trial.figures.busy for trial in tuning.trials if trial.figures]
    assert measured == [0.4, 0.2, 0.2], "the table has what the choice was made by"

    def steady(values: Values, _: int) -> float:
        return 0.2 if values["translate.partial.threads"] == 4 else 0.4

    tuning = Scripted(steady, keys=now)
    assert tuning.result("marian") == {"translate.partial.threads": 4}
    assert sorted(tuning.times.values()) == [1, 2, 2]


def test_on_a_gpu_the_threads_of_the_cpu_are_not_tried() -> None:
    machine = Machine("x", 4, GIB, GIB, (Gpu("g", GIB, GIB),), cuda=True)
    tuning = Scripted(lambda v, _: 0.1 if v["stt.device"] == "cuda" else 0.6, machine)
    assert tuning.result("stt")["stt.device"] == "cuda"
    assert {trial.values["stt.threads"] for trial in tuning.trials} == {2}


def test_a_gpu_that_does_not_work_is_not_chosen() -> None:
    machine = Machine("x", 4, GIB, GIB, (Gpu("g", GIB, GIB),), cuda=True)
    tuning = Scripted(lambda v, _: None if v["stt.device"] == "cuda" else 0.6, machine)
    assert tuning.result("stt")["stt.device"] == "cpu"
    assert [trial.problem for trial in tuning.trials if trial.problem] == ["It does not work."]


def test_a_gpu_that_is_set_and_not_there_is_left() -> None:
    tuning = Scripted(
        lambda v, _: None if v["stt.device"] == "cuda" else 0.6,
        keys={"stt.device": "cuda", "stt.compute_type": "float16"},
    )
    chosen = tuning.result("stt")
    assert (chosen["stt.device"], chosen["stt.compute_type"]) == ("cpu", "int8")


def test_where_nothing_works_the_reason_is_raised() -> None:
    with pytest.raises(ModelError, match=r"It does not work\. \[model-broken\]"):
        Scripted(lambda *_: None).result("marian")


def test_roles_are_those_that_the_settings_ask_for() -> None:
    def roles(keys: Values) -> list[Role]:
        return Tuning(changed(Settings(), keys), MACHINE, limit_s=1).roles

    assert roles({}) == ["stt", "marian", "gemma"]
    assert roles({"translate.final.engine": "marian"}) == ["stt", "marian"]
    assert roles({"translate.partial.engine": "none"}) == ["stt", "gemma"]


class Once(Tuning):
    """Tries one setting of the real recognizer, on the golden recording only."""

    def steps(self, role: Role) -> list[Step]:
        return [Step(({"stt.threads": 2},))]

    def _work(self, role: Role) -> Work:
        return Work((Job(lambda engine: engine.recognize(self._golden.pcm, final=True)),), 3.2)


@pytest.mark.slow
def test_a_recognizer_of_another_language_need_not_understand_the_english_recording(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Spanish words were looked for in it, so that nothing could be tuned.

    No recognizer of Spanish ships: the English one stands for it.
    """
    make = trials._engine
    english = {"translate.source": "en", "translate.target": "es"}
    monkeypatch.setattr(
        trials, "_engine", lambda role, settings: make(role, changed(settings, english))
    )
    spanish = changed(Settings(), {"translate.source": "es", "translate.target": "en"})
    (trial,) = Once(spanish, MACHINE, limit_s=0.1).run("stt")
    assert trial.figures is not None, trial.problem


class Brief(Tuning):
    """Tries the last two steps of a role, and the first two alternatives of each."""

    def steps(self, role: Role) -> list[Step]:
        return [Step(step.alternatives[:2], step.on_cpu) for step in super().steps(role)[-2:]]


@pytest.fixture(scope="module")
def real() -> Tuning:
    """Both translators, tuned with the starter models as briefly as possible."""
    needs_file(*(bundled("models", "starter", role) for role in ("marian", "gemma")))
    tuning = Brief(changed(Settings(), {"translate.final.model": "tiny"}), MACHINE, limit_s=0.1)
    for role in tuning.roles[1:]:
        list(tuning.run(role))
    return tuning


@pytest.mark.slow
def test_the_real_engines_are_measured(real: Tuning) -> None:
    known = dict(leaves(Settings().model_dump()))
    for role in real.roles[1:]:
        best = real.chosen[role]
        assert best.figures is not None
        assert 0 < best.figures.finals_busy <= best.figures.busy
        assert best.figures.slowest_s > 0
        assert set(best.values) <= set(known)
        changed(Settings(), best.values)
        assert real.memory_bytes[role] >= 0
    assert [trial.problem for trial in real.trials if trial.problem] == []


@pytest.mark.slow
def test_a_model_that_says_something_else_is_not_tuned() -> None:
    wrong = {"translate.final.model": "tiny", "translate.final.prompt": "translategemma"}
    # Without drafts, the test need not translate the sermon for them.
    settings = changed(Settings(), {**wrong, "translate.partial.engine": "none"})
    tuning = Tuning(settings, MACHINE, limit_s=0.1)
    with pytest.raises(EngineError, match=r"translate\.final\.model: it says.*\[golden-missed\]"):
        list(tuning.run("gemma"))
    assert "gemma" not in tuning.chosen
    assert tuning.trials[0].problem


def test_a_model_that_is_not_there() -> None:
    settings = changed(Settings(), {"translate.partial.model": "/no/such/model"})
    with pytest.raises(ModelError, match=r"translate\.partial\.model: .*\[model-missing\]"):
        list(Tuning(settings, MACHINE, limit_s=0.1).run("marian"))
