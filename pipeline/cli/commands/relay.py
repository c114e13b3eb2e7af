"""`relay`: serve displays anywhere with the captions that a church publishes."""

from __future__ import annotations

import argparse
import asyncio

from pipeline.cli.options import Commands, add_command, settings_of
from pipeline.core import logs
from pipeline.core.errors import UsageError
from pipeline.daemon.life.signals import ENDS, handle_signals
from pipeline.publish.relay import Relay

_SAYS = "Serve displays at another place with captions from NATS."
_MORE = """\
The daemon publishes where [publish] names a server. A relay keeps nothing: start as many as the
viewers need, behind any load balancer, and kill any of them. docs/SCALE.md tells how many.
"""


def add(commands: Commands) -> None:
    parser = add_command(commands, "relay", _relay, _SAYS, _MORE)
    parser.add_argument("--nats", metavar="URL", help="NATS server: nats://host:4222, tls://host")
    parser.add_argument("--church", help="name of the stream (publish.church)")
    parser.add_argument("--credentials", metavar="FILE", help="file with user:password or a token")
    parser.add_argument("--ca-file", metavar="FILE", help="who signed its certificate, in PEM")
    parser.add_argument("--host", help="address to serve on (0.0.0.0 for phones)")
    parser.add_argument("--port", type=int, help="port to serve on (0: any free one)")
    parser.add_argument("--max-clients", type=int, metavar="N", help="displays at a time")


def _relay(arguments: argparse.Namespace) -> int:
    # Refused, not hidden: the password is already in the list of processes.
    if "@" in (arguments.nats or ""):
        raise UsageError(
            "relay-password",
            "--nats has a password in it, and every user of this machine can read a command line.",
            "Put it into a file of its own, and name that with --credentials.",
        )
    given = {
        "publish.nats": arguments.nats,
        "publish.church": arguments.church,
        "publish.credentials": arguments.credentials,
        "publish.ca_file": arguments.ca_file,
        "server.max_clients": arguments.max_clients,
        # Behind a load balancer all displays have one address.
        "server.max_per_address": arguments.max_clients,
    }
    settings = settings_of(arguments, {k: v for k, v in given.items() if v is not None}).settings
    if not settings.publish.nats:
        raise UsageError("relay-no-server", "A relay needs --nats.", "Give --nats nats://host:4222")
    logs.configure(settings.log.level, settings.log.format)
    return asyncio.run(_serve(Relay(settings)))


async def _serve(relay: Relay) -> int:
    stopped = asyncio.Event()
    handle_signals(dict.fromkeys(ENDS, stopped.set))
    await relay.start()
    logs.serving(relay.address)
    ended = asyncio.create_task(stopped.wait())
    try:
        await asyncio.wait({relay.following, ended}, return_when=asyncio.FIRST_COMPLETED)
        if relay.following.done():
            relay.following.result()  # a bug: its traceback is wanted
    finally:
        ended.cancel()
        await asyncio.gather(ended, return_exceptions=True)
        await relay.close()
    return 0
