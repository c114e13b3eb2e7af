"""A service's captions as one MP3, spoken when it is over.

So nothing is in it that was hidden, off the record or corrected, and it costs the service nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
import structlog

from pipeline.captions.subtitles import newest
from pipeline.core.errors import EngineError, EngineGoneError
from pipeline.engines.protocols import Speaker
from pipeline.protocol.caption import CaptionMessage
from pipeline.voice.narrator import LATE_S, Narrator
from pipeline.voice.playout import FRAME, RATE_HZ, Encoder

log = structlog.get_logger()

_PAUSE_S = 0.4


def recorded(messages: Iterable[CaptionMessage], lang: str, speaker: Speaker) -> Iterator[bytes]:
    """Yield the sound of a journal's captions in `lang`, clause by clause.

    A clause that cannot be said is left out, and told to the log. Raises EngineGoneError.
    """
    encoder, narrator = Encoder(), Narrator(lang, fastest=1.0)
    for message in newest(messages):
        narrator.take(message, now_s=0.0)
        while clause := narrator.next(0.0, LATE_S):  # nobody waits: whole clauses
            try:
                pcm = speaker.speak(clause.text, lang, 1.0)
            except EngineGoneError:
                raise
            except EngineError as error:
                log.warning("not said", id=message.id, code=error.code, message=error.message)
                continue
            pause = round(_PAUSE_S * RATE_HZ)
            silence = np.zeros(pause + -(len(pcm) + pause) % FRAME, np.float32)
            yield encoder.encode(np.concatenate([pcm, silence]))
