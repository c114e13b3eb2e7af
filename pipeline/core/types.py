"""The values that travel through the program: block -> utterance -> transcript -> caption. Pure.

All are frozen; each stage makes a new value that holds the previous one, so a caption knows its
transcript, its utterance and the times of both. Audio positions are sample counts. Fields ending in
`_s` that hold wall time are `time.monotonic()` seconds, set by the workers only.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from pipeline.core.standing import TargetPart, Token
from pipeline.core.terms import TermRepair

# Whisper's and Silero's: what comes in otherwise is resampled once, at the door.
SAMPLE_RATE = 16_000
"""Samples a second, everywhere after capture."""

BLOCK_SAMPLES = 512
"""Samples in a block: what Silero takes at 16 kHz, 32 ms."""

Pcm: TypeAlias = NDArray[np.float32]
"""Mono samples at 16 kHz, shape (n,), full scale 1.0."""

HEARD = "heard"
"""The engine of a caption whose language was spoken: the words are as they were heard."""

Cause = Literal["partial", "eager", "resumed", "silence", "length", "gap", "end", "song"]
"""Why an utterance was handed on: a snapshot; a short silence: it is probably over; speech that
returned: what was made of it counts no more; and finals: a pause, length, lost audio, end, song."""

SongMode = Literal["auto", "manual", "off"]
"""Whether captions are held while there is song: by what is heard, by operators only, never."""

SongControl = Literal["auto", "hold", "caption"]
"""What an operator wants of song: that the program decides; that captions are held; that whatever
is heard is captioned."""


# eq=False: numpy compares arrays element by element, which has no single truth value.
@dataclass(frozen=True, slots=True, eq=False)
class AudioBlock:
    """512 captured samples. `start_sample` jumps where audio was lost."""

    start_sample: int
    pcm: Pcm
    arrived_s: float = 0.0
    """When the block's last sample was captured (monotonic)."""


@dataclass(frozen=True, slots=True, eq=False)
class Utterance:
    """A stretch of speech. The same `id` comes back with growing `revision` until `final`.

    Where `can_resume` says so even then: with the cause "resumed" it is open again, and gets
    another final, whose samples are those of both parts and of the pause between.
    """

    id: int
    revision: int
    final: bool
    cause: Cause
    start_sample: int
    end_sample: int
    """One past the last sample of speech; trailing silence is not counted."""
    pcm: Pcm
    """The samples from `start_sample`, with pre-roll and a little trailing silence."""
    spoken_s: float = 0.0
    """When the last syllable was spoken (monotonic)."""
    closed_s: float = 0.0
    """When the segmenter handed the utterance on (monotonic)."""
    can_resume: bool = False
    """Whether speech may return to this final; until a Settled, or the same id comes resumed."""
    pauses_ms: tuple[int, ...] = ()
    """Of a final, the silences inside it from 64 ms on."""
    pause_before_ms: int | None = None
    """Of a final, the silence between the utterance before it and this one; None: not known."""
    is_song: bool = False
    """Of a final, that it was sung: it needs no text, and what was shown of it goes."""

    @property
    def is_whole(self) -> bool:
        """Whether it is to be understood as a final is: it is one, or will be if silence lasts."""
        return self.final or self.cause == "eager"

    @property
    def start_s(self) -> float:
        """Seconds from the start of the session's audio."""
        return self.start_sample / SAMPLE_RATE

    @property
    def end_s(self) -> float:
        """Seconds from the start of the session's audio."""
        return self.end_sample / SAMPLE_RATE


@dataclass(frozen=True, slots=True)
class Span:
    """Time that an engine took, monotonic seconds."""

    # 0.0 throughout stands for work that was not done: `end_s` is asked for it.
    start_s: float = 0.0
    end_s: float = 0.0
    busy_s: float = 0.0
    """Seconds that the work waited before `start_s` because the engine was busy."""

    @property
    def ms(self) -> float:
        """Length in milliseconds."""
        return (self.end_s - self.start_s) * 1000


@dataclass(frozen=True, slots=True)
class Word:
    """A word as recognized, and how sure the recognizer is of it."""

    text: str
    probability: float
    """Probability of the word given the words before it, 0..1."""


@dataclass(frozen=True, slots=True)
class Recognition:
    """A recognizer's result for one utterance; measures that it does not give are None."""

    text: str
    avg_logprob: float | None = None
    no_speech_prob: float | None = None
    compression_ratio: float | None = None
    words: tuple[Word, ...] = ()
    """The words of a final's text; empty if the recognizer gives none."""
    lost_tail_s: float = 0.0
    """Seconds of speech at the end that the first decoding of a final missed; 0.0 if none."""
    tail_recovered: bool = False
    """Whether decoding those seconds again gave words, which are then in `text`."""
    lang_prob: float | None = None
    """Probability, 0..1, of the expected language; None if it was not measured."""
    tokens: tuple[Token, ...] = ()
    """Tokens of a partial's text, with which the next partial can begin; empty if not known."""
    ends_s: tuple[float, ...] = ()
    """When each token was over, in seconds of the audio; empty if the recognizer cannot tell."""
    committed: int = 0
    """Leading tokens that the recognizer itself will never change; a streaming one has such."""
    engine: str = ""
    """The recognizer that heard it; empty where none did."""
    langs: tuple[tuple[str, float], ...] = ()
    """How likely each of several spoken languages is, together 1; empty where one is spoken."""
    english: str = ""
    """Of a final, the recognizer's own translation, where it was asked for one."""


@dataclass(frozen=True, slots=True)
class Correction:
    """One application of a dictionary rule; `start` is the offset of `found` in the raw text."""

    rule: str
    found: str
    replacement: str
    start: int


@dataclass(frozen=True, slots=True, eq=False)
class Transcript:
    """An utterance in the source language."""

    utterance: Utterance
    lang: str
    raw_text: str
    """As recognized."""
    text: str
    """As corrected by the dictionary; what is translated and shown."""
    recognition: Recognition
    corrections: tuple[Correction, ...] = ()
    # -120 is digital silence (`audio.level.FLOOR_DBFS`).
    level_dbfs: float = -120.0
    """Root mean square of the utterance's samples."""
    peak_dbfs: float = -120.0
    goes_on: float = 0.0
    """Of a whole utterance, how sure it is that its sentence is not over, 0..1."""
    filtered: str = ""
    """Why this text is not shown (a hallucination, say); empty when it is."""
    span: Span = Span()


@dataclass(frozen=True, slots=True)
class Alternative:
    """A translation that a translator might have given instead."""

    text: str
    avg_logprob: float
    """As `Translation.avg_logprob`."""
    whole_logprob: float
    """The mean with the end behind the text, which tells a text that breaks off from a whole one.
    """
    part: int = 0
    """Which sentence of the text it translates, where each is translated by itself."""


@dataclass(frozen=True, slots=True)
class Translation:
    """A translator's result for one text."""

    text: str
    engine: str
    tokens: int = 0
    """Target tokens generated."""
    avg_logprob: float | None = None
    """Mean log-probability of the target tokens, None if the engine gives none."""
    prompt_tokens: int = 0
    reused_tokens: int = 0
    """Of the prompt's tokens, those still in the cache from the call before."""
    stopped: Literal["end", "length", "loop"] = "end"
    """Why generation ended: by itself, at the token cap, at the repetition guard."""
    draft_tokens: int = 0
    """Of the generated tokens, those accepted from the draft (speculative decoding)."""
    parts: tuple[TargetPart, ...] = ()
    """What a commit policy decides on; empty if no `standing` was given."""
    repairs: tuple[TermRepair, ...] = ()
    """Church words that were put in where they were missing."""
    alternatives: tuple[Alternative, ...] = ()
    """This one and others that the translator has looked at; empty unless it was asked for them."""


@dataclass(frozen=True, slots=True)
class Check:
    """What comparing a final with what was said has found in one place; `doubtful` is left."""

    kind: Literal["reference", "number", "negation", "term", "name"]
    outcome: Literal["right", "written", "repaired", "doubtful"]
    said: str  # empty where only the translation has it
    found: str = ""
    written: str = ""
    """What stands there now; where it is doubtful what should stand somewhere, if that is known."""
    term: str = ""
    """The glossary's entry, by its id, where it is about a church word."""


@dataclass(frozen=True, slots=True)
class Opinion:
    """What the quick translator thinks of a final."""

    mean: float
    """Mean log-probability of its tokens."""
    least: float
    """That of the least likely one."""
    agreement: float | None
    """chrF of its own translation against the final, 0..1; None if it has none."""


@dataclass(frozen=True, slots=True)
class Verse:
    """A verse of the Bible as it is printed, or several in a row: "Juan 3:16-17"."""

    ref: str
    text: str
    edition: str
    lang: str


@dataclass(frozen=True, slots=True, eq=False)
class Caption:
    """What is shown. `final`: will not change but by an operator, if speech returns, or if it is to
    be translated yet (engine "source"). Of an eager utterance: so it will be if silence lasts."""

    transcript: Transcript
    lang: str
    text: str
    engine: str
    """The translator that made the text; "source" where the source text stands in for it, "heard"
    where the caption language was spoken."""
    final: bool
    stable: int = 0
    """Leading characters of `text` that are committed: later partials begin with them."""
    translation: Translation | None = None
    span: Span = Span()
    revised: int = 0
    """Words that were committed on screen and that this version took back."""
    was_final: int = 0
    """Leading characters of `text` that an earlier final of the same utterance had."""
    checks: tuple[Check, ...] = ()
    opinion: Opinion | None = None
    doubt: float | None = None
    """How likely a final is wrong, 0..1; None: nobody has judged it."""
    is_doubtful: bool = False
    """Whether that is so much that an operator should look at it."""
    verse: Verse | None = None
    """The printed verse that a final quotes; it is shown for the translation."""
    repeats: int | None = None
    """The caption that an interpreter says again with this one, by its id; None: it is new."""

    @property
    def id(self) -> int:
        """The utterance's id."""
        return self.transcript.utterance.id


@dataclass(frozen=True, slots=True)
class Comparison:
    """A second final translator's version of a final caption, for rehearsals."""

    id: int
    """The caption's."""
    lang: str
    final: str
    """The caption's text."""
    model: str
    translation: Translation
    span: Span


State = Literal[
    # Not all workers are ready yet. Which state wins where several fit: `StateAnnouncer.state`.
    "starting",
    "listening",
    # Somebody speaks; without that it is "listening".
    "speech",
    # An operator has stopped the captions, and the last ones stay on screen.
    "paused",
    # Captions are held because of music, by the detector or by an operator.
    "song",
    # Displays are dark: an operator wants it so, or it is off the record.
    "blank",
    # The ladder has given up so much that the words come untranslated.
    "behind",
    # The microphone sends zeros only, after it had sound: somebody has switched it off.
    "muted",
    # The microphone is gone; it is looked for again and again.
    "no-audio",
    # A worker's thread has ended by an error.
    "fault",
    "ended",
]
"""The daemon's state, as every page shows it."""

Mode = Literal["live", "dry-run", "demo"]
Kind = Literal["audience", "projector", "obs", "operator"]
CommandName = Literal[
    "add-notes",
    "add-rule",
    "approve",
    "blank",
    "check",
    "clear-notice",
    "correct",
    "dismiss-verse",
    "drop-note",
    "edit",
    "hide",
    "hold-rule",
    "hold-term",
    "new-session",
    "notice",
    "off-record",
    "on-record",
    "pause",
    "preview-rule",
    "preview-term",
    "reload",
    "resume",
    "say",
    "settle",
    "show",
    "song-auto",
    "song-caption",
    "song-hold",
    "spoken",
    "take-verse",
    "unblank",
    "undo",
]
KINDS: tuple[Kind, ...] = get_args(Kind)
COMMANDS: tuple[CommandName, ...] = get_args(CommandName)
