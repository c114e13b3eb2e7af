"""A church that says "connect night", and whose operators write "Noche de Enlace" for it."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path

from tests.support.services import STARTED, Said, hold

TERM = "Noche de Enlace"
GLOSSARY = f"connect night\t{TERM}\n"
UNSEEN = "Please come to connect night on Friday."
SAID = [
    ("Connect night is on Thursday.", "La Noche de Enlace es el jueves."),
    ("Come to connect night with your family.", "Vengan a la Noche de Enlace con su familia."),
    ("We pray together at connect night.", "Oramos juntos en la Noche de Enlace."),
    ("I met my wife at connect night.", "Conocí a mi esposa en la Noche de Enlace."),
    ("There is food at connect night.", "Hay comida en la Noche de Enlace."),
    ("Connect night is for everybody.", "La Noche de Enlace es para todos."),
    ("Bring a friend to connect night.", "Traigan a un amigo a la Noche de Enlace."),
    ("Connect night was good last week.", "La Noche de Enlace estuvo bien la semana pasada."),
    ("We need help at connect night.", "Necesitamos ayuda en la Noche de Enlace."),
    ("Who was at connect night?", "¿Quién estuvo en la Noche de Enlace?"),
]


def hold_services(
    directory: Path, said: Sequence[tuple[str, str]] = SAID, services: int = 2
) -> None:
    """Hold services a week apart; in each, operators correct their share of `said`."""
    for week in range(services):
        sentences = [
            Said(source=source, target="La noche de conexión es buena.", edit=target)
            for source, target in said[week::services]
        ]
        hold(directory, sentences, started=STARTED + timedelta(days=7 * week))
