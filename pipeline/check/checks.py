"""List the checks before a service; check settings, pages, port, disk, [publish], [[outputs]]."""

from __future__ import annotations

import asyncio
import shutil
import socket
import ssl
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from urllib.parse import urlsplit

from websockets.datastructures import Headers
from websockets.http11 import Request

from pipeline.check.audio import checks as audio_checks
from pipeline.check.engines import EngineChecks
from pipeline.check.machine import font_checks, machine_checks
from pipeline.check.result import Check, Passed
from pipeline.church.scripture import editions, verse_index
from pipeline.config.loader import INHERITED_FROM, Loaded
from pipeline.config.publishing import Output, Publish
from pipeline.config.schema import Church, Settings
from pipeline.config.schema import Server as ServerSettings
from pipeline.core.errors import PublishError, ServerError, SessionError, VersesError
from pipeline.core.files import GrowingFile
from pipeline.core.formats import human_size
from pipeline.core.resources import bundled
from pipeline.dictionary.store import Dictionary
from pipeline.engines.prompts import language
from pipeline.publish.broker import Broker, place_of
from pipeline.server.addresses import LOOPBACK, page_address, unbound
from pipeline.server.branding import branding
from pipeline.server.operator_token import FILE as TOKEN_FILE
from pipeline.server.operator_token import operator_token
from pipeline.server.pages import Pages
from pipeline.server.tls import SOON, Certificate
from pipeline.session.recorder import make_folder, writing_to

_SERVICE_BYTES = 6_000_000
"""Two hours at the demo's rate: its folder grows by 40 kB a minute, all files together."""
_DISK_BYTES = 100_000_000
"""Room for the service, the system's logs and other programs."""
_SOUND = {
    "none": "No sound is kept.",
    "doubtful": "Sound of doubtful captions is kept to learn from: tell those who speak.",
    "all": "All speech is kept to learn from: tell those who speak.",
}
_ANSWER_S = 5.0
_REFUSED_BY_UNIT = (
    "The service that install.sh makes reaches private networks only; others need IPAddressAllow="
)


def checks(
    loaded: Loaded, rehearsal: EngineChecks, *, audio: bool = True, seconds: float = 3.0
) -> list[Check]:
    """Return the checks for these settings, quick ones first, the rehearsal's last.

    With `audio` the microphone is checked too, for `seconds`.
    """
    settings = loaded.settings
    sessions, logo = Path(settings.session.directory), partial(_logo, settings.church)
    return [
        # First: `stark-translate check` has a separate exit code for it.
        Check("settings", "Reading the settings", partial(_settings, loaded)),
        Check("dictionary", "Reading the dictionary", partial(_dictionary, settings)),
        *_verses_checks(settings),
        Check("pages", "Reading the display pages", _pages, fix="Install the program again."),
        *([Check("logo", "Reading the logo", logo)] if settings.church.logo else []),
        *font_checks(settings),
        *_certificate_checks(settings.server),
        Check("port", "Opening the port", partial(_port, settings.server)),
        Check("sessions", "Writing a session", partial(_sessions, sessions, settings)),
        Check("disk", "Measuring the disk", partial(_disk, sessions)),
        *outside_checks(settings),
        *machine_checks(settings),
        *(audio_checks(settings, seconds) if audio else ()),
        *rehearsal.checks(),
    ]


def standing_checks(settings: Settings) -> list[Check]:
    """Return the checks that may run at any time, also during a service."""
    sessions = Path(settings.session.directory)
    return [
        Check("dictionary", "Reading the dictionary", partial(_dictionary, settings)),
        *_certificate_checks(settings.server),
        Check("sessions", "Writing a session", partial(_sessions, sessions, settings)),
        Check("disk", "Measuring the disk", partial(_disk, sessions)),
        *outside_checks(settings),
    ]


def _settings(loaded: Loaded) -> Passed:
    translate = loaded.settings.translate
    for narrowed in loaded.settings.for_each_target():
        engines = {narrowed.translate.partial.engine, narrowed.translate.final.engine}
        if engines & {"gemma", "openai"}:  # their prompts name languages
            for code in (translate.source, narrowed.translate.target):
                language(code)
    origins = Counter(loaded.origins.values())
    # A Counter does not raise if a deleted key is missing.
    del origins["built-in default"], origins[INHERITED_FROM]
    places = ", ".join(f"{origin} ({count} set)" for origin, count in origins.items())
    pair = f"{translate.source} to {' and '.join(translate.langs)}"
    message = f"{pair}; {places or 'no file, every setting is the built-in default'}."
    return Passed(message, "\n".join(loaded.advice), "old-keys" if loaded.advice else "")


def _dictionary(settings: Settings) -> Passed:
    dictionary = Dictionary(settings)
    if not dictionary.enabled:
        return Passed("Switched off.")
    own = f", {dictionary.own} among them" if dictionary.own.exists() else ""
    return Passed(f"{len(dictionary.lexicon.rules)} rules{own}.")


def _verses_checks(settings: Settings) -> Iterator[Check]:
    for narrowed in settings.for_each_target():
        name = "verses" if narrowed is settings else f"verses-{narrowed.translate.target}"
        yield Check(name, "Reading the Bibles", partial(_verses, narrowed))


def _verses(settings: Settings) -> Passed:
    """Report which Bible is shown. It never fails: a service works without one."""
    if settings.church.verses == "off":
        return Passed("Printed verses are switched off.")
    try:
        edition = editions.for_language(settings.translate.target, settings.church.edition)
        verse_index.load_built(settings.translate.source)
    except VersesError as error:
        # There is nothing to fix: many languages have no Bible here.
        if error.code == "verses-none":
            return Passed(f"{error.message} Verses are translated like all else.")
        return Passed(error.message, error.fix, error.code)
    return Passed(f"{edition.title}, {len(edition.verses)} verses; the index is built.")


def _pages() -> Passed:
    pages = Pages(bundled("displays"))
    for path in ("/", "/projector"):
        if pages.answer(Request(path, Headers())).status_code != 200:
            raise ServerError("pages-missing", f"The page {path} is not in {bundled('displays')}.")
    return Passed("The audience's and the projector's are there.")


def _logo(church: Church) -> Passed:
    """Report whether pages show the logo. It never fails: a service works without one."""
    try:
        found = branding(church)
    except ServerError as error:
        return Passed(f"{error.message} The pages go without it.", error.fix, error.code)
    return Passed(f"{found.logo_type}, {len(found.logo) / 1000:.0f} kB.")


def _certificate_checks(server: ServerSettings) -> tuple[Check, ...]:
    if not server.tls_cert:
        return ()
    return (Check("certificate", "Reading the certificate", partial(_certificate, server)),)


def _certificate(server: ServerSettings) -> Passed:
    certificate = Certificate(server)
    now = datetime.now(UTC)
    certificate.check(now)
    facts = certificate.facts
    said = f"For {', '.join(facts.names) or 'no name'}, until {facts.until:%Y-%m-%d}."
    host = urlsplit(page_address(server.host, server.port)).hostname or ""
    # Phones trust the certificate only if it has the name that they open.
    opened = urlsplit(server.address).hostname or host
    if certificate.exposed:
        return Passed(said, f"Others can read the key: {certificate.exposed}", "tls-key-open")
    if facts.until - now < SOON:
        return Passed(said, "Renew it before it ends.", "tls-ends-soon")
    if not facts.fits(opened):
        fix = f"Phones open {opened}: set server.address to https:// and a name that it is for."
        return Passed(said, fix, "tls-other-name")
    return Passed(said)


def _port(server: ServerSettings) -> Passed:
    """Bind the port as the daemon does, and release it. Raises ServerError."""

    async def bind() -> int:
        loop = asyncio.get_running_loop()
        bound = await loop.create_server(asyncio.Protocol, server.host, server.port)
        port: int = bound.sockets[0].getsockname()[1]
        bound.close()  # no client must connect to a check
        await bound.wait_closed()
        return port

    try:
        port = asyncio.run(bind())
    except OSError as problem:
        raise unbound(server, problem) from problem
    address = page_address(server.host, port, secure=bool(server.tls_cert))
    if server.address:
        return Passed(f"For phones: {server.address}, as set; by its own name: {address}.")
    if server.host.startswith(LOOPBACK):
        return Passed(f"{address}, for this machine only (phones need --host 0.0.0.0).")
    # Bound to every address, but only this machine can reach it.
    if str(urlsplit(address).hostname).startswith("127."):
        return Passed(
            f"{address}: this machine is in no network.",
            "Connect it to the network that the phones use.",
            "network-missing",
        )
    if server.port == 0:
        return Passed(
            f"Port {port} now, another at every start.",
            "Set server.port, so that the address for phones stays the same.",
            "port-changes",
        )
    return Passed(f"For phones and the projector: {address} and {address}projector.")


def _sessions(directory: Path, settings: Settings) -> Passed:
    """Make a session folder and write in it, then remove all that is new.

    Raises SessionError.
    """
    new = [folder for folder in (directory, *directory.parents) if not folder.exists()]
    file = directory / TOKEN_FILE
    try:
        with writing_to(directory):
            # Only an existing token: one made by this user might be unreadable for the service.
            if not settings.operator.token and file.exists():
                operator_token(directory)
            # Exactly as the daemon does at its start.
            folder = make_folder(directory, datetime.now(UTC))
            try:
                # With a sync: some disks accept a write and fail only at the flush.
                probe = GrowingFile(folder / "check", sync=True)
                try:
                    probe.append(b"check\n")
                finally:
                    probe.close()
            finally:
                shutil.rmtree(folder)
    finally:
        # A folder made by this user might not be writable for the service's user.
        for folder in new:
            with suppress(OSError):
                # rmdir refuses a folder that is not empty, so no user's files are lost.
                folder.rmdir()
    return Passed(f"{directory.resolve()} can be written. {_SOUND[settings.session.keep_audio]}")


def _disk(directory: Path) -> Passed:
    # The directory may not exist yet; its nearest existing parent is on the same disk.
    there = next(f for f in (directory.absolute(), *directory.absolute().parents) if f.is_dir())
    free = shutil.disk_usage(there).free
    room = f"{human_size(free)} free; two hours take about {human_size(_SERVICE_BYTES)}"
    if free < _DISK_BYTES:
        raise SessionError(
            "disk-short",
            f"{room}, and {human_size(_DISK_BYTES)} leave room for logs and other programs.",
            f"Make room where {there} is, or set session.directory to another disk.",
        )
    return Passed(f"{room}.")


def outside_checks(settings: Settings) -> list[Check]:
    """Return a check for each destination of captions outside this machine."""
    checks = []
    if settings.publish.nats:
        doing = "Reaching the NATS server"
        checks.append(Check("publish", doing, partial(_publish, settings.publish)))
    for each in settings.outputs:
        # HLS has no url: the program's own pages serve it.
        if each.url:
            doing = f"Reaching {each.program} of [[outputs]]"
            checks.append(Check(f"output-{each.program}", doing, partial(_output, each)))
    return checks


def _publish(settings: Publish) -> Passed:
    """Log in. Raises PublishError if waiting does not help, such as a wrong password."""

    async def ask() -> None:
        broker = await Broker.connect(settings)
        try:
            await broker.state()
        finally:
            await broker.close()

    place = place_of(settings.nats)
    try:
        # A new event loop: during a service too, checks run in a thread without one.
        asyncio.run(ask())
    except PublishError as error:
        # It may start later: captions in the hall do not need it.
        if error.code == "publish-unreachable":
            advice = f"Start it, or mend publish.nats. {_REFUSED_BY_UNIT} (docs/SCALE.md)."
            return Passed(error.message, advice, error.code)
        if error.code != "publish-no-stream":  # the first service makes it
            raise
    return Passed(f"{place} is there, and lets the church in.")


def _output(output: Output) -> Passed:
    """Connect only: each of these programs would take a request for a caption."""
    parts = urlsplit(output.url)
    is_https = parts.scheme == "https"
    host, port = str(parts.hostname), parts.port or (443 if is_https else 80)
    try:
        # Nothing is sent: a bare connection shows no caption.
        with socket.create_connection((host, port), _ANSWER_S) as plain:
            if is_https:
                ssl.create_default_context().wrap_socket(plain, server_hostname=host).close()
    except (OSError, ValueError) as error:  # ValueError: an invalid host name
        mend = f"Start it, or mend the url of {output.program} in [[outputs]]."
        advice = f"{mend} {_REFUSED_BY_UNIT} (docs/DISPLAYS.md)."
        return Passed(f"{host}:{port} does not answer: {error}.", advice, "output-unreachable")
    return Passed(f"{host}:{port} is there.")
