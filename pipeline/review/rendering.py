"""Fill the report's HTML templates; all text in them is escaped."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from pipeline.core.formats import clock
from pipeline.core.languages import language
from pipeline.review.svg import printable
from pipeline.review.wording import GRADES, filter_reason


def _finalize(value: Any) -> Any:
    """Prepare the value of an expression; None is written as nothing."""
    # Markup is a str, too: control characters are replaced in drawings as well.
    if isinstance(value, str):
        return printable(value)
    return "" if value is None else value


_ENVIRONMENT = Environment(
    loader=FileSystemLoader(Path(__file__).with_name("templates")),
    autoescape=True,
    undefined=StrictUndefined,  # a name that is misspelt in a template ends the report
    finalize=_finalize,
    trim_blocks=True,
    lstrip_blocks=True,
)
_ENVIRONMENT.filters.update(
    clock=clock,
    filter_reason=filter_reason,
    grade=GRADES.__getitem__,
    language_name=lambda code: language(code).name,
)


def render_page(template: str, **values: Any) -> str:
    """Return a template as a page."""
    return _ENVIRONMENT.get_template(template).render(**values)


def render_part(template: str, macro: str, **values: Any) -> Markup:
    """Return what one macro of a template draws: a part of a page, empty if there is nothing."""
    # `module` runs the template once without values: a macro sees only what it is given here.
    part: Markup = getattr(_ENVIRONMENT.get_template(template).module, macro)(**values)
    return part
