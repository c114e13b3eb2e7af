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
    # The live voice's rules, so that numbers, verses and long clauses are said in the same way.
    encoder, narrator = Encoder(), Narrator(lang, fastest=1.0)
    # The newest versions only, hidden ones left out: a caption that was mended is said as it is.
    for message in newest(messages):
        narrator.take(message, now_s=0.0)
        while clause := narrator.next(0.0, LATE_S):  # nobody waits: whole clauses
            try:
                pcm = speaker.speak(clause.text, lang, 1.0)
            # It is an EngineError too; without an engine every other clause would fail as well.
            except EngineGoneError:
                raise
            except EngineError as error:
                log.warning("not said", id=message.id, code=error.code, message=error.message)
                continue
            # Silence fills the last frame: the encoder takes whole frames only.
            pause = round(_PAUSE_S * RATE_HZ)
            silence = np.zeros(pause + -(len(pcm) + pause) % FRAME, np.float32)
            yield encoder.encode(np.concatenate([pcm, silence]))
