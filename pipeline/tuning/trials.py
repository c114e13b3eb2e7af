"""Try engines on real speech with one setting after another, for `tune`.

pipeline.tuning.plan says what to try and what to choose.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import structlog

from pipeline.config.loader import changed, leaves
from pipeline.config.schema import Settings
from pipeline.core.errors import EngineError, ModelError, StarkError
from pipeline.core.files import size_bytes
from pipeline.core.resources import bundled
from pipeline.dictionary.store import Dictionary
from pipeline.engines.llama_cpp import llama
from pipeline.engines.process import factory
from pipeline.engines.process.engine_process import RecognizerProcess, TranslatorProcess
from pipeline.engines.specification import FINAL, QUICK
from pipeline.evaluation.reference import read_golden
from pipeline.models.automatic import models_in_use
from pipeline.models.library import ModelLibrary
from pipeline.models.registry import KEYS, Role
from pipeline.models.resolve import resolve
from pipeline.tuning import plan
from pipeline.tuning.plan import (
    Machine,
    Need,
    Step,
    Trial,
    Value,
    Values,
    Verdict,
    find_smaller,
    judge,
    judge_gpu,
    judge_memory,
    judge_processor,
    judge_together,
)
from pipeline.tuning.workload import (
    Work,
    figures_of,
    hearing,
    quick_translating,
    sermon,
    time_jobs,
    translating,
)

log = structlog.get_logger()

_PATIENCE = 2
"""Multiple of its time after which a trial ends with its results so far."""
_HANGS_S = 120.0
"""Deadline of one translation here; long, so that a slow machine gets figures, not an error."""


class Tuning:
    """Tries the machine's possibilities, engine by engine, and keeps the best.

    Each trial takes about `limit_s`; `begin` is called before it.
    """

    def __init__(
        self,
        settings: Settings,
        machine: Machine,
        *,
        limit_s: float,
        begin: Callable[[Role, Values], None] = lambda _role, _values: None,
    ) -> None:
        self._settings = settings
        self._machine = machine
        self._limit_s = limit_s
        self._begin = begin
        self._golden = read_golden(bundled("demo", "golden.json"))
        self.trials: list[Trial] = []
        self.chosen: dict[Role, Trial] = {}
        """The best trial of each role so far; its values include those of finished steps."""
        self.memory_bytes: dict[Role, int] = {}
        """Memory of each engine."""
        self._jobs: dict[Role, int] = {}
        # Each failed trial replaces it: the last reason is reported if nothing works.
        self._error = StarkError("tune-nothing-works", "Nothing that was tried works.")

    @property
    def roles(self) -> list[Role]:
        """Return the roles that the settings have an engine for, in the order of the work."""
        translate = self._settings.translate
        roles: list[Role] = ["stt"]
        if translate.partial.engine == "marian":
            roles.append("marian")
        if translate.final.engine == "gemma":
            roles.append("gemma")
        return roles

    def steps(self, role: Role) -> list[Step]:
        """Return the steps to try for a role. Raises ModelError for its model."""
        path, layers = model_path(role, self._settings), 0
        # Only the steps of a GPU need the number of layers.
        if role == "gemma" and self._machine.llama_gpu:
            try:
                layers = llama.layers(path)
            except llama.LlamaError as error:
                raise ModelError("model-broken", f"{KEYS[role]}: {path}: {error}.") from None
        return plan.steps(role, self._settings, self._machine, layers)

    def run(self, role: Role) -> Iterator[Trial]:
        """Try all steps of a role and yield each trial, also one known from an earlier step.

        Another setting replaces the present one only if it was quicker in two alternating trials.
        If nothing works, raises the StarkError of the last trial.
        """
        work, known = self._work(role), dict[tuple[tuple[str, Value], ...], Trial]()
        planned = self.steps(role)
        flat = dict(leaves(self._settings.model_dump()))
        set_now: Values = {key: flat[key] for step in planned for key in step.alternatives[0]}
        values = dict(set_now)
        for step in planned:
            # The number of CPU threads hardly matters to an engine on a GPU.
            if step.on_cpu and plan.on_gpu(values):
                continue
            tried = []
            for alternative in step.alternatives:
                # In addition to the choices of the earlier steps.
                now = values | dict(alternative)
                key = tuple(sorted(now.items()))
                if key not in known:  # else its figures from an earlier step are still valid
                    self._begin(role, alternative)
                    known[key] = self._try(role, now, work)
                tried.append(replace(known[key], tried=alternative))
                self.trials.append(tried[-1])
                yield tried[-1]
            best = plan.choose(tried)
            # At most two: the best one, and the current setting if it was tried.
            rivals = [t for t in tried if t is best or t.tried.items() <= set_now.items()]
            # A second time, one after the other, since other load may have differed before.
            if best is not None and len(rivals) == 2:
                for rival in rivals:
                    self._begin(role, rival.tried)
                    again = replace(self._try(role, rival.values, work), tried=rival.tried)
                    tried[tried.index(rival)] = plan.quicker(rival, again)
                self.trials[-len(tried) :] = tried
                best = plan.choose(tried)
            if best is None:
                raise self._error
            values = dict(best.values)
            self.chosen[role] = best

    def _try(self, role: Role, values: Values, work: Work) -> Trial:
        # The deadline of a service would cut off slow finals and make them look quick.
        settings = changed(self._settings, {**values, "translate.final.deadline_s": _HANGS_S})
        try:
            with closing(_engine(role, settings)) as engine:
                engine.load()
                # Before it is timed: an engine that is quick because it writes nonsense must not
                # be chosen.
                self._check(role, engine)
                known = self._jobs.get(role)
                jobs = work.jobs[:known]
                # The first trial sets the number of jobs; a slower one may take _PATIENCE times as
                # long for them.
                patience_s = self._limit_s * (1 if known is None else _PATIENCE)
                timing = time_jobs(jobs, engine, self._limit_s, patience_s, engine.cpu_s)
                used = engine.memory_bytes
        except (ModelError, EngineError) as error:  # a setting that this machine cannot do
            self._error = error
            return Trial(role, values, problem=str(error))
        self.memory_bytes.setdefault(role, used)
        self._jobs.setdefault(role, len(timing.seconds))  # all others do as many jobs, no more
        figures = figures_of(work, timing)
        log.debug("trial", role=role, **values, **asdict(figures), jobs=len(timing.seconds))
        return Trial(role, values, figures)

    def _check(self, role: Role, engine: RecognizerProcess | TranslatorProcess) -> None:
        """Test the engine with the golden sentence, which warms it up too. Raises EngineError."""
        golden, translate = self._golden, self._settings.translate
        if reason := engine.degraded_reason.rstrip("."):
            raise EngineError("gpu-unavailable", f"It does not fit: {reason}.")
        lang = translate.source if role == "stt" else translate.target
        # There is no golden sound or text in that language, so only the figures count.
        if translate.source not in ((golden.spoken,) if role == "stt" else golden.text):
            return
        if isinstance(engine, RecognizerProcess):
            text = engine.recognize(golden.pcm, final=True).text
        else:
            text = engine.translate(golden.text[translate.source]).text
        if missing := golden.missing(text, lang):
            raise EngineError(
                "golden-missed",
                f"{KEYS[role]}: it says {text!r}, without {' and '.join(map(repr, missing))}.",
                "`stark-translate check` says more.",
            )

    def _work(self, role: Role) -> Work:
        if role == "stt":
            return hearing(self._settings)
        if role == "marian":
            return quick_translating(self._settings)
        if factory.partial_spec(self._settings) is None:
            return translating()
        with closing(_translator("marian", self._settings)) as quick:
            quick.load()
            # As in a service, Gemma uses these drafts to guess its tokens.
            return translating([quick.translate(sentence.source).text for sentence in sermon()])


def model_path(role: Role, settings: Settings) -> Path:
    """Return the path of a role's model. Raises ModelError."""
    return resolve(role, models_in_use(settings)[role], ModelLibrary.of(settings))


def _engine(role: Role, settings: Settings) -> RecognizerProcess | TranslatorProcess:
    """Return the engine in its own process, so that a crash is a normal result."""
    if role != "stt":
        return _translator(role, settings)
    # Without a restart, since the trial must detect a crash.
    recognizer = factory.recognizer_process(settings, restarts=False, local=True)
    if settings.stt.hotwords:
        recognizer.hotwords = Dictionary(settings).hotwords
    return recognizer


def _translator(role: Role, settings: Settings) -> TranslatorProcess:
    spec = (factory.partial_spec if role == "marian" else factory.final_spec)(settings)
    part = QUICK if role == "marian" else FINAL
    translator = factory.translator_process(settings, spec, part, restarts=False)
    assert translator is not None  # noqa: S101 - roles without an engine are not tried
    return translator


@dataclass(frozen=True, slots=True)
class Tuned:
    """The result. If it is not `complete`, it was interrupted and has the trials until then."""

    complete: bool
    machine: Machine
    trials: Sequence[Trial]
    chosen: Values
    changes: Values
    """The chosen values that differ from the settings."""
    verdicts: Sequence[Verdict]
    in_use: Sequence[Need]
    """The measured memory of the models in use."""

    @property
    def ok(self) -> bool:
        """True if everything was tried, keeps up and fits."""
        return self.complete and all(verdict.ok for verdict in self.verdicts)


def conclude(done: Tuning, settings: Settings, machine: Machine, *, complete: bool) -> Tuned:
    """Return the result of the trials so far. Raises ModelError for the registry."""
    models = list(ModelLibrary.of(settings).known.values())
    flat = dict(leaves(settings.model_dump()))
    figures = {r: trial.figures for r, trial in done.chosen.items() if trial.figures is not None}
    # Roles have no key in common, so none overwrites another's.
    chosen = {key: value for trial in done.chosen.values() for key, value in trial.values.items()}
    names = models_in_use(settings)
    sizes = {role: size_bytes(model_path(role, settings)) for role in figures}
    in_use = [
        # An engine may reuse memory that another one freed, so the measured growth may be too
        # small. It needs at least the size of its file.
        Need(names[role], role, max(done.memory_bytes[role], sizes[role]))
        for role in figures
    ]
    verdicts = [
        judge(role, each, settings, find_smaller(role, each, sizes[role], settings, models))
        for role, each in figures.items()
    ]
    if complete:  # sums over engines that were not all measured would be too small
        verdicts += [
            judge_together(figures, machine),
            judge_memory(in_use, machine),
            *judge_gpu(machine),
        ]
    verdicts += judge_processor(machine)
    return Tuned(
        complete=complete,
        machine=machine,
        trials=tuple(done.trials),
        chosen=chosen,
        changes={key: value for key, value in chosen.items() if value != flat[key]},
        verdicts=verdicts,
        in_use=in_use,
    )
