"""Sound in a FLAC file: 16 bit, mono, 16 kHz."""

from __future__ import annotations

from pathlib import Path

from pipeline.core.types import SAMPLE_RATE, Pcm


def write_flac(path: Path, pcm: Pcm) -> None:
    """Write samples in one piece: the file is there whole or not at all. Raises OSError."""
    import soundfile  # noqa: PLC0415 - a second, for those who keep sound only

    # Beside it: only within one disk is a file put in place in one step.
    temporary = path.with_name(f"{path.name}.tmp")
    try:
        soundfile.write(temporary, pcm, SAMPLE_RATE, format="FLAC", subtype="PCM_16")
        temporary.replace(path)
    except soundfile.SoundFileError as error:
        temporary.unlink(missing_ok=True)
        raise OSError(0, str(error), str(path)) from None
    except OSError:
        temporary.unlink(missing_ok=True)
        raise
