"""Check that what [publish] and [[outputs]] name is there. Nothing is published or shown."""

from __future__ import annotations

import asyncio
import socket
import ssl
from functools import partial
from urllib.parse import urlsplit

from pipeline.check.result import Check, Passed
from pipeline.config.publishing import Output, Publish
from pipeline.config.schema import Settings
from pipeline.core.errors import PublishError
from pipeline.publish.broker import Broker
from pipeline.publish.troubles import place_of

_ANSWER_S = 5.0
_REFUSED_BY_UNIT = (
    "The service that install.sh makes reaches private networks only; others need IPAddressAllow="
)


def outside_checks(settings: Settings) -> list[Check]:
    """Return a check for each thing outside of this machine that captions are sent to."""
    checks = []
    if settings.publish.nats:
        doing = "Reaching the NATS server"
        checks.append(Check("publish", doing, partial(_publish, settings.publish)))
    for each in settings.outputs:
        if each.url:
            doing = f"Reaching {each.program} of [[outputs]]"
            checks.append(Check(f"output-{each.program}", doing, partial(_output, each)))
    return checks


def _publish(settings: Publish) -> Passed:
    """Log in. Raises PublishError where waiting does not help, such as a wrong password."""

    async def ask() -> None:
        broker = await Broker.connect(settings)
        try:
            await broker.state()
        finally:
            await broker.close()

    place = place_of(settings.nats)
    try:
        asyncio.run(ask())
    except PublishError as error:
        # It may come later: captions in the hall need it not.
        if error.code == "publish-unreachable":
            advice = f"Start it, or mend publish.nats. {_REFUSED_BY_UNIT} (docs/SCALE.md)."
            return Passed(error.message, advice, error.code)
        if error.code != "publish-no-stream":  # the first service makes it
            raise
    return Passed(f"{place} is there, and lets the church in.")


def _output(output: Output) -> Passed:
    """Connect, and ask for nothing: each of these programs takes a request for a caption."""
    parts = urlsplit(output.url)
    is_https = parts.scheme == "https"
    host, port = str(parts.hostname), parts.port or (443 if is_https else 80)
    try:
        with socket.create_connection((host, port), _ANSWER_S) as plain:
            if is_https:
                ssl.create_default_context().wrap_socket(plain, server_hostname=host).close()
    except (OSError, ValueError) as error:  # ValueError: a name that cannot be one
        mend = f"Start it, or mend the url of {output.program} in [[outputs]]."
        advice = f"{mend} {_REFUSED_BY_UNIT} (docs/DISPLAYS.md)."
        return Passed(f"{host}:{port} does not answer: {error}.", advice, "output-unreachable")
    return Passed(f"{host}:{port} is there.")
