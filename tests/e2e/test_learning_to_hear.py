"""From the audio of two services to a recognizer that knows a church's names.

The names are invented, so Whisper base cannot know them. espeak-ng, which every machine has,
speaks them. Reviewers correct the errors. The real program collects the audio, and Whisper is
fine-tuned, converted, proved, compared, deployed and rolled back.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path

import numpy as np
import pytest

from pipeline.cli.main import main
from pipeline.config.loader import load
from pipeline.config.section import Session as SessionSettings
from pipeline.core.types import SAMPLE_RATE, Pcm
from pipeline.dictionary.store import Dictionary
from pipeline.engines.process.factory import recognizer
from pipeline.learning.compare import COMPARISONS
from pipeline.learning.data.folder import DataFolder
from pipeline.learning.data.terms import terms_in
from pipeline.session.reader import Session
from tests.support.needs import needs_program, needs_train_extra
from tests.support.services import STARTED, Said, decide, hold

needs_train_extra()

from training.data import spoken_names  # noqa: E402
from training.data.speech import Voice, speak  # noqa: E402

pytestmark = [pytest.mark.slow, pytest.mark.train]

NAMES = spoken_names.NAMES[:3]
FRAMES = spoken_names.FRAMES[:5]
VOICES = spoken_names.VOICES[:2]
STEPS = 8
"""Of 8 utterances each; a step count, so that a slow machine learns as much as a quick one."""
UNSEEN = "Please open the door for {} and her sister."


def spoken(text: str, voice: Voice) -> Pcm:
    return np.asarray(np.pad(speak(text, voice), SAMPLE_RATE // 5), np.float32)


def names_heard(voices: Sequence[Voice]) -> float:
    """Return the share of names that the configured recognizer hears in unseen sentences."""
    settings = load(Path("config.toml")).settings
    engine = recognizer(settings, Dictionary(settings))
    engine.load()
    heard = [
        bool(terms_in(engine.recognize(spoken(UNSEEN.format(n), voice), final=True).text, [n]))
        for voice in voices
        for n in NAMES
    ]
    return sum(heard) / len(heard)


@pytest.mark.timeout(3600)
def test_names_that_were_corrected_are_heard(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, whisper_base: Path
) -> None:
    needs_program("espeak-ng")
    monkeypatch.chdir(tmp_path)
    Path("config.toml").write_text(
        f'[stt]\nmodel = "{whisper_base}"\nwindow_s = 5\n[models]\ndirectory = "models"\n'
        '[dictionary]\nfile = "church.toml"\n'
    )
    rules = (f'[[rule]]\nhear = ["{n.lower()}"]\nwrite = "{n}"\n' for n in NAMES)
    Path("church.toml").write_text("".join(rules))
    for week, voice in enumerate(VOICES):
        said = [frame.format(name) for frame in FRAMES for name in NAMES]
        folder = hold(
            tmp_path / "sessions",
            [Said(source=t, target="Buenos días.", pcm=spoken(t, voice)) for t in said],
            started=STARTED + timedelta(days=7 * week),
            keeping=SessionSettings(keep_audio="all"),
        )
        for record in Session(folder).shown:
            decide(folder, record.id, "corrected", said[record.id - 1], "Buenos días.")
        assert main(["learn", "collect", "--speaker", voice.name, folder.name]) == 0
    before = names_heard(VOICES)

    assert main(["learn", "hear", "--minutes", "600", "--steps", str(STEPS), "--threads", "1"]) == 0
    new = "learning/stt/model"
    code = main(["learn", "compare", str(whisper_base), new, "--role", "stt", "--sentences", "4"])
    (compared,) = COMPARISONS.read(DataFolder(Path("learning")))
    differences = {(each.set, each.measure): each.difference for each in compared.measured}
    assert differences["own sound", "terms, %"].difference >= 0  # only three sentences
    assert differences["own sound", "100 - WER"].difference > 0
    assert ("voices", "100 - WER") in differences, "and people of no church are measured too"
    asked = ["learn", "deploy", new, "ours", "--role", "stt"]
    assert main(asked) == code
    if code:
        assert main([*asked, "--force"]) == 0
    assert names_heard(VOICES) > before, "in sentences that nobody has said before"
    assert main(["learn", "rollback", "--role", "stt"]) == 0
    assert load(Path("config.toml")).settings.stt.model == str(whisper_base)
