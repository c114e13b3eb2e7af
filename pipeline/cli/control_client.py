"""Send a command to the daemon on this machine, over its port, like an operator's page."""

from __future__ import annotations

import asyncio
import ssl
from http import HTTPStatus
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import orjson
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed, InvalidHandshake, InvalidStatus

from pipeline.config.schema import Server
from pipeline.core.errors import ConfigError, ServerError, StarkError, UsageError, reading
from pipeline.server.addresses import EVERYWHERE, page_address
from pipeline.server.tls import trusting

_ANSWER_S = 20.0
"""A dictionary of thousands of rules takes a second; a daemon that hangs does not answer at all."""


def ask(server: Server, token: str, message: dict[str, Any], answer: str) -> dict[str, Any]:
    """Send a message and return its answer, a message of type `answer`.

    Raises ServerError if no daemon answers (daemon-unreachable) or it refuses, ConfigError
    if it refuses because of its settings, UsageError without a port (port-unknown).
    Over https the certificate must be that of `server`; its names and dates do not matter here.
    """
    require_port(server)
    tls, page = _tls(server), _page(server)
    place = urlsplit(page).netloc
    # The same step turns https into wss. history=0: no captions, only the answer is wanted.
    uri = f"{page.replace('http', 'ws', 1)}ws?kind=operator&history=0"
    try:
        return asyncio.run(_converse(uri, tls, token, message, answer))
    except InvalidStatus as refused:
        full = refused.response.status_code == HTTPStatus.SERVICE_UNAVAILABLE
        problem = "has no room for one more connection" if full else "is not stark-translate"
    # Before its base class SSLError: this problem is more exact.
    except ssl.SSLCertVerificationError:
        problem = "has another certificate than server.tls_cert"
    except (ssl.SSLError, InvalidHandshake, ConnectionClosed, ConnectionResetError):
        problem = f"is not stark-translate{' over https' if tls else ''}, or hangs up"
    except TimeoutError:
        problem = "does not answer in time"
    # Last: most of the errors above are OSErrors, too.
    except OSError:
        raise ServerError(
            "daemon-unreachable",
            f"No stark-translate answers on {place}.",
            "Is it running? If server.port or server.host was just changed, give the one that it "
            "has with --port or --host; SIGHUP reaches it in any case.",
        ) from None
    raise ServerError(
        "daemon-unreachable",
        f"What answers on {place} {problem}.",
        "Give the daemon's port with --port; SIGHUP reaches it in any case.",
    )


def require_port(server: Server) -> None:
    """Raise UsageError (port-unknown) if the settings leave the port to the daemon."""
    if not server.port:
        message = "server.port is 0: the port that the daemon picked is not in the settings."
        raise UsageError("port-unknown", message, "Give it with --port; the daemon has printed it.")


async def _converse(
    uri: str, tls: ssl.SSLContext | None, token: str, request: dict[str, Any], answer: str
) -> dict[str, Any]:
    # The backlog for a new operator may be large; a proxy must not be used.
    connecting = connect(uri, ssl=tls, max_size=None, compression=None, proxy=None)
    async with asyncio.timeout(_ANSWER_S), connecting as socket:
        await socket.send(orjson.dumps({"type": "auth", "token": token}).decode())
        while True:
            # The state, the console and captions come in between: only the answer counts.
            message = orjson.loads(await socket.recv())
            if message["type"] == "authorized":
                await socket.send(orjson.dumps(request).decode())
            elif message["type"] == "error":
                raise _refusal(message["code"], message["message"])
            elif message["type"] == answer:
                return dict(message)


def _refusal(code: str, message: str) -> StarkError:
    if code == "not-authorized":
        return ServerError(
            code,
            "The daemon has another operator's token than these settings lead to.",
            "Name the settings that it runs with: --config, --sessions.",
        )
    if code.startswith("config-"):
        return ConfigError(code, message)
    return ServerError(code, message)


def _page(server: Server) -> str:
    """Return the address at which this machine reaches a server."""
    # Clients cannot connect to a wildcard address; the daemon also listens on loopback.
    host = "127.0.0.1" if server.host in EVERYWHERE else server.host
    return page_address(host, server.port, secure=bool(server.tls_cert))


def _tls(server: Server) -> ssl.SSLContext | None:
    if not server.tls_cert:
        return None
    place, fix = (
        f"server.tls_cert: {server.tls_cert}",
        "Correct the path, and run this as the daemon's user.",
    )
    with reading(place, ServerError, "tls-unreadable", fix):
        return trusting(Path(server.tls_cert))
