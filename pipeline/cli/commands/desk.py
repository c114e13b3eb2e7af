"""`desk`: open the operator's page, and let volunteers' devices in or out."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from urllib.parse import quote_plus

import orjson
import segno

from pipeline.cli.browser import add_browser, link_with, open_with_token
from pipeline.cli.control_client import ask, require_port
from pipeline.cli.options import (
    Commands,
    add_command,
    add_reaching,
    path,
    require_writable,
    settings_of,
    write_out,
)
from pipeline.config.schema import Settings
from pipeline.core.errors import ServerError, SessionError
from pipeline.server.addresses import LOOPBACK, own_address, public_address
from pipeline.server.buttons import ACTIONS, NEXT_LANGUAGE, TOGGLES
from pipeline.server.operator_token import kept_token
from pipeline.server.volunteers import Volunteers

_NOTICE = "Lunch is ready"
_SAYS = "Open the operator page of the running service, or pair a tablet with it."
_MORE = """\
A tablet is paired once: point its camera at the picture shown here and type a name, or open the
address shown here on it and type the six digits and a name. It opens without asking from then on,
until that name is revoked here or at the desk.
"""


def add(commands: Commands) -> None:
    parser = add_command(commands, "desk", _desk, _SAYS, _MORE)
    add_reaching(parser)
    add_browser(parser)
    only = parser.add_mutually_exclusive_group()
    only.add_argument("--list", action="store_true", help="list paired volunteers")
    says = "print the addresses of buttons for Stream Deck or Companion, with a token of their own"
    only.add_argument("--buttons", metavar="NAME", help=says)
    says = "with --buttons: one for this notice, in the spoken language; may be repeated"
    parser.add_argument("--notice", metavar="TEXT", action="append", help=says)
    says = "with --buttons: write a page of them that Bitfocus Companion can import"
    parser.add_argument("--companion", type=path, metavar="FILE", help=says)
    says = "end the access of all devices of a volunteer"
    only.add_argument("--revoke", metavar="NAME", help=says)


def _desk(arguments: argparse.Namespace) -> int:
    if (arguments.notice or arguments.companion) and not arguments.buttons:
        arguments.parser.error("--notice and --companion are for --buttons NAME")
    settings = settings_of(arguments).settings
    if arguments.list or arguments.revoke:
        volunteers = Volunteers(Path(settings.session.directory))
        # Read now: the running service may have paired devices since.
        volunteers.refresh()
        return _list(volunteers) if arguments.list else _revoke(volunteers, arguments.revoke)
    if arguments.buttons:
        # One as an example, so that its address can be copied and changed.
        notices = arguments.notice or [_NOTICE]
        return _buttons(settings, arguments.buttons, notices, arguments.companion)
    return _open(settings, browser=arguments.browser)


def _buttons(settings: Settings, name: str, notices: Sequence[str], out: Path | None) -> int:
    server, spoken = settings.server, settings.translate.spoken
    require_port(server)
    if out is not None:
        require_writable(out)  # first: a token whose page is not written would stay, unknown
    # A separate token: the buttons can be revoked, and the operator's token does not change.
    token = Volunteers(Path(settings.session.directory)).add(name)
    place = public_address(server)
    # Each ends with "?" or "&", so that the token can follow.
    asked = [(action, f"{action}?") for action in (*TOGGLES, *ACTIONS)]
    if len(spoken) > 1:
        asked.append((NEXT_LANGUAGE, f"{NEXT_LANGUAGE}?"))
        asked += [(f"spoken {lang}", f"spoken?lang={lang}&") for lang in spoken]
    for text in notices:
        asked.append((text, f"notice?text={quote_plus(text)}&lang={spoken[0]}&"))
    addresses = {says: f"{place}do/{what}token={token}" for says, what in asked}
    if out is not None:
        write_out(out, page(name, addresses))
    else:
        for says, address in addresses.items():
            print(f"{says:17} {address}")
    hint = f"Whoever has these addresses can do this. To end it: desk --revoke {name!r}"
    print(hint, file=sys.stderr)
    return 0


def _list(volunteers: Volunteers) -> int:
    for device in volunteers.devices:
        print(f"{device.name}\tsince {device.paired_utc[:10]}")
    # On standard error: standard output is an empty list, which scripts understand.
    if not volunteers.devices:
        print("No volunteer is paired: stark-translate desk shows a code.", file=sys.stderr)
    return 0


def _revoke(volunteers: Volunteers, name: str) -> int:
    count = volunteers.revoke(name)
    if not count:
        fix = "stark-translate desk --list names those that are."
        raise SessionError("unknown-volunteer", f"No device of {name} is paired.", fix)
    print(f"{name}: {count} signed out. A service that runs lets go within seconds.")
    return 0


def _open(settings: Settings, *, browser: bool | None) -> int:
    server = settings.server
    require_port(server)
    directory = Path(settings.session.directory)
    # Not created here: a token that the daemon does not know would open nothing.
    token = settings.operator.token or kept_token(directory)
    own = f"{own_address(server)}operator"
    print(f"The desk, on this machine: {link_with(token, own)}")
    # A tablet cannot reach a daemon that serves this machine only: a code would be useless.
    # With server.address it can: a proxy leads there.
    if server.address or not server.host.startswith(LOOPBACK):
        _invite(settings, token, f"{public_address(server)}operator")
    else:
        print("For a tablet: start the captions with --host 0.0.0.0.", file=sys.stderr)
    open_with_token(token, own, directory, browser)
    return 0


def _invite(settings: Settings, token: str, page: str) -> None:
    """Show how to pair one more tablet: the page, and a code if the daemon runs."""
    try:
        reply = ask(settings.server, token, {"type": "invite"}, "invitation")
    except ServerError as error:
        # Not an error: the page still opens on this machine.
        print(f"For a tablet there is no code: {error.message}", file=sys.stderr)
        return
    code, minutes = reply["code"], round(reply["for_s"] / 60)
    print(f"For a tablet: open {page} and type {code[:3]} {code[3:]}")
    print(f"The code lets one device in, within {minutes} minutes.")
    if sys.stdout.isatty():
        # The smallest code: a terminal has few lines, and no damage that needs error correction.
        segno.make_qr(f"{page}#code={code}", error="l").terminal(compact=True)


_COLUMNS = 8
"""As many as Companion's own pages have."""
_CONNECTION = "captions"
_WHITE, _BLACK = 0xFFFFFF, 0


def page(name: str, addresses: Mapping[str, str]) -> bytes:
    """Return the file of a page with buttons, each of which requests an address when pressed.

    `addresses` are in order, by the text on the button.
    """
    rows: dict[str, dict[str, object]] = {}
    for number, (says, address) in enumerate(addresses.items()):
        row, column = divmod(number, _COLUMNS)
        rows.setdefault(str(row), {})[str(column)] = _button(f"captions-{number}", says, address)
    last_row = max(3, len(rows) - 1)
    grid = {"minColumn": 0, "maxColumn": _COLUMNS - 1, "minRow": 0, "maxRow": last_row}
    connection = {
        "instance_type": "generic-http",
        "label": _CONNECTION,
        "enabled": True,
        "isFirstInit": False,
        "lastUpgradeIndex": -1,
        "config": {"prefix": "", "rejectUnauthorized": True},
    }
    return orjson.dumps(
        {
            "version": 4,
            "type": "page",
            "page": {"name": name, "controls": rows, "gridSize": grid},
            "instances": {_CONNECTION: connection},
            "oldPageNumber": 1,
        },
        option=orjson.OPT_INDENT_2,
    )


def _button(key: str, says: str, address: str) -> dict[str, object]:
    pressed = {
        "id": key,
        "instance": _CONNECTION,
        "action": "get",
        "options": {"url": address, "header": ""},
    }
    look = {"text": says.replace("-", " "), "size": "auto", "alignment": "center:center"}
    return {
        "type": "button",
        "style": look | {"color": _WHITE, "bgcolor": _BLACK, "show_topbar": "default"},
        "options": {"rotaryActions": False, "stepAutoProgress": True},
        "feedbacks": [],
        "steps": {"0": {"action_sets": {"down": [pressed], "up": []}}},
    }
