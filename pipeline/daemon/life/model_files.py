"""The files of the models in use: named in the record, and compared with their hashes."""

from __future__ import annotations

from pipeline.config.schema import Settings
from pipeline.core.reports import Emit, Fault
from pipeline.core.threads import described
from pipeline.core.timestamps import utc_now
from pipeline.daemon.context.context import DaemonContext
from pipeline.models.identity import used_models
from pipeline.models.integrity import BackgroundHashing
from pipeline.records.events import ModelsEvent
from pipeline.workers.engines import Engines


def record_models(context: DaemonContext, settings: Settings) -> None:
    """Write into the record which models the settings name."""
    context.facts.models = used_models(settings)
    context.recorder.record(ModelsEvent(utc=utc_now(), models=context.facts.models))


def start_hashing(engines: Engines, emit: Emit) -> BackgroundHashing:
    """Begin to compare the models' files with their hashes, now that nothing waits for the disk."""

    def tell(message: str) -> None:
        emit(Fault("models", "model-changed", message))

    def failed(error: BaseException) -> None:
        message = f"The models' files could not be compared: {described(error)}."
        emit(Fault("models", "models-unchecked", message))

    specs = (engine.spec for _, engine in engines.by_stage())
    hashing = BackgroundHashing(
        [spec.model for spec in specs if not spec.is_elsewhere], tell, failed
    )
    hashing.start()
    return hashing
