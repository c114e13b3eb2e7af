"""The values that travel through the program: block -> utterance -> transcript -> caption. Pure.

All are frozen. Each stage makes a new value that holds the previous one, so a caption contains its
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

# The rate of Whisper and Silero. Other input is resampled once, at capture.
SAMPLE_RATE = 16_000
"""Samples per second, everywhere after capture."""

BLOCK_SAMPLES = 512
"""Samples in a block: 32 ms, which is what Silero takes at 16 kHz."""

Pcm: TypeAlias = NDArray[np.float32]
"""Mono samples at 16 kHz, shape (n,), full scale 1.0."""

HEARD = "heard"
"""The engine of a caption in the spoken language: its text is the transcript."""

Cause = Literal["partial", "eager", "resumed", "silence", "length", "gap", "end", "song"]
"""Why an utterance was passed on. partial: a snapshot; eager: a short silence, probably the end;
resumed: speech returned, so earlier results are void; all others: a final ("gap": lost audio)."""

SongMode = Literal["auto", "manual", "off"]
"""Who may hold captions during song: the detector and operators, only operators, nobody."""

SongControl = Literal["auto", "hold", "caption"]
"""An operator's choice about song: the program decides; captions are held; all is captioned."""


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
    """A segment of speech. The same `id` comes again with growing `revision` until `final`.

    If `can_resume` is true, it may come even after that: the cause "resumed" opens it again, and
    its next final has the samples of both parts and of the pause between them.
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
    """When the segmenter passed the utterance on (monotonic)."""
    can_resume: bool = False
    """Whether this final may be resumed, until a Settled comes or the same id comes resumed."""
    pauses_ms: tuple[int, ...] = ()
    """The silences of 64 ms or more inside a final."""
    pause_before_ms: int | None = None
    """The silence between the previous utterance and this final; None: not known."""
    is_song: bool = False
    """Whether a final was sung: it needs no text, and its caption is removed."""

    @property
    def is_whole(self) -> bool:
        """Whether to process it like a final: it is one, or will be if the silence lasts."""
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

    # All 0.0 means that the work was not done; test `end_s` for it.
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
    """A recognized word and the recognizer's confidence in it."""

    text: str
    probability: float
    """Probability of the word given the words before it, 0..1."""


@dataclass(frozen=True, slots=True)
class Recognition:
    """A recognizer's result for one utterance. A measure that the recognizer lacks is None."""

    text: str
    avg_logprob: float | None = None
    no_speech_prob: float | None = None
    compression_ratio: float | None = None
    words: tuple[Word, ...] = ()
    """The words of a final's text; empty if the recognizer gives none."""
    lost_tail_s: float = 0.0
    """Seconds of speech at the end that the first decoding of a final missed; 0.0 if none."""
    tail_recovered: bool = False
    """Whether a second decoding of those seconds gave words, which are then in `text`."""
    lang_prob: float | None = None
    """Probability, 0..1, of the expected language; None if it was not measured."""
    tokens: tuple[Token, ...] = ()
    """Tokens of a partial's text, with which the next partial can begin; empty if not known."""
    ends_s: tuple[float, ...] = ()
    """The end of each token in audio seconds; empty if the recognizer cannot tell."""
    committed: int = 0
    """Number of leading tokens that a streaming recognizer will never change."""
    engine: str = ""
    """The recognizer's name; empty if there was none."""
    langs: tuple[tuple[str, float], ...] = ()
    """The probability of each spoken language (sum 1); empty if only one is spoken."""
    english: str = ""
    """The recognizer's own translation of a final, if it was requested."""


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
    """Confidence, 0..1, that the sentence of a whole utterance is not over."""
    filtered: str = ""
    """Why this text is not shown (for example a hallucination); empty if it is shown."""
    span: Span = Span()


@dataclass(frozen=True, slots=True)
class Alternative:
    """An alternative hypothesis of a translator."""

    text: str
    avg_logprob: float
    """As `Translation.avg_logprob`."""
    whole_logprob: float
    """The mean with the end token included: it separates a complete text from a truncated one."""
    part: int = 0
    """The index of its sentence in the text, if each sentence is translated separately."""


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
    """Prompt tokens that were still in the cache from the previous call."""
    stopped: Literal["end", "length", "loop"] = "end"
    """Why generation ended: by itself, at the token cap, at the repetition guard."""
    draft_tokens: int = 0
    """Generated tokens that were accepted from the draft (speculative decoding)."""
    parts: tuple[TargetPart, ...] = ()
    """The input of the commit policy; empty if no `standing` was given."""
    repairs: tuple[TermRepair, ...] = ()
    """Missing church terms that were inserted."""
    alternatives: tuple[Alternative, ...] = ()
    """This hypothesis and the translator's others; empty unless they were requested."""


@dataclass(frozen=True, slots=True)
class Check:
    """One result of comparing a final with the transcript; `doubtful` means not repaired."""

    kind: Literal["reference", "number", "negation", "term", "name"]
    outcome: Literal["right", "written", "repaired", "doubtful"]
    said: str  # empty if only the translation has it
    found: str = ""
    written: str = ""
    """The text there now; if doubtful, the text that should be somewhere, if that is known."""
    term: str = ""
    """The id of the glossary entry, for a church term."""


@dataclass(frozen=True, slots=True)
class Opinion:
    """The quick translator's scores for a final."""

    mean: float
    """Mean log-probability of its tokens."""
    least: float
    """Log-probability of the least likely token."""
    agreement: float | None
    """chrF, 0..1, of the quick translation against the final; None if there is none."""


@dataclass(frozen=True, slots=True)
class Verse:
    """A printed Bible verse, or several in a row: "Juan 3:16-17"."""

    ref: str
    text: str
    edition: str
    lang: str


@dataclass(frozen=True, slots=True, eq=False)
class Caption:
    """What is shown. A `final` changes only by an operator, if speech returns, or if it still waits
    for translation (engine "source"). For an eager utterance: it is final if the silence lasts."""

    transcript: Transcript
    lang: str
    text: str
    engine: str
    """The translator that made the text; "source" if the source text is shown in its place, "heard"
    if the caption language was spoken."""
    final: bool
    stable: int = 0
    """Length of the committed prefix of `text`, in characters: later partials begin with it."""
    translation: Translation | None = None
    span: Span = Span()
    revised: int = 0
    """Number of words committed on screen that this version took back."""
    was_final: int = 0
    """Number of leading characters of `text` from an earlier final of the same utterance."""
    checks: tuple[Check, ...] = ()
    opinion: Opinion | None = None
    doubt: float | None = None
    """Probability, 0..1, that a final is wrong; None: not judged."""
    is_doubtful: bool = False
    """Whether `doubt` is so high that an operator should look at the caption."""
    verse: Verse | None = None
    """The printed verse that a final quotes; it is shown in place of the translation."""
    repeats: int | None = None
    """The id of the caption that an interpreter repeats with this one; None: it is new."""

    @property
    def id(self) -> int:
        """The utterance's id."""
        return self.transcript.utterance.id


@dataclass(frozen=True, slots=True)
class Comparison:
    """A second final translator's version of a final caption, for rehearsals."""

    id: int
    lang: str
    final: str
    model: str
    translation: Translation
    span: Span


State = Literal[
    # Not all workers are ready yet. For the order of precedence: `StateAnnouncer.state`.
    "starting",
    "listening",
    # Somebody speaks; otherwise the state is "listening".
    "speech",
    # An operator has paused the captions. The last ones stay on screen.
    "paused",
    # Captions are held because of music, by the detector or by an operator.
    "song",
    # Displays are dark: by an operator, or because the service is off the record.
    "blank",
    # The degradation ladder is so low that captions are not translated.
    "behind",
    # The microphone sends only zeros after it had sound: somebody has switched it off.
    "muted",
    # The microphone is gone. The program looks for it repeatedly.
    "no-audio",
    # A worker's thread has ended by an error.
    "fault",
    "ended",
]
"""The daemon's state, as every page shows it."""

Mode = Literal["live", "dry-run", "demo"]
Kind = Literal["audience", "projector", "obs", "operator"]
PlainName = Literal[
    "blank",
    "check",
    "clear-notice",
    "new-session",
    "off-record",
    "on-record",
    "pause",
    "reload",
    "resume",
    "song-auto",
    "song-caption",
    "song-hold",
    "unblank",
    "undo",
]
"""Operators' commands without arguments: changes of state, undo, reload."""
CaptionCommandName = Literal["approve", "dismiss-verse", "hide", "settle", "show", "take-verse"]
"""Those about a caption, without other arguments."""
CommandName = Literal[
    PlainName,
    CaptionCommandName,
    "add-notes",
    "add-rule",
    "correct",
    "drop-note",
    "edit",
    "hold-rule",
    "hold-term",
    "notice",
    "preview-rule",
    "preview-term",
    "say",
    "spoken",
]
KINDS: tuple[Kind, ...] = get_args(Kind)
COMMANDS: tuple[CommandName, ...] = tuple(sorted(get_args(CommandName)))
