"""The certificate for https: load it, check its dates, reload it when its files change."""

from __future__ import annotations

import os
import ssl
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path
from typing import Any

import structlog

from pipeline.config.schema import Server
from pipeline.core.errors import ServerError
from pipeline.core.files import Stamp, stamp_of

SOON = timedelta(days=14)
"""How long before its end a certificate should be renewed."""
_HAS_MODES = os.name == "posix"
_NO_CHECK_TIME = 0x200000  # X509_V_FLAG_NO_CHECK_TIME of OpenSSL, which `ssl` does not name

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class Facts:
    """The contents of a certificate: its names and addresses, and when it is valid."""

    names: tuple[str, ...]
    since: datetime
    until: datetime
    is_public: bool = True
    """Whether phones trust its issuer; otherwise they warn."""

    def fits(self, host: str) -> bool:
        """Return whether browsers accept it for this name or address."""
        # A star matches one part of a name, never several.
        parent = host.partition(".")[2]
        return _plain(host) in self.names or (bool(parent) and f"*.{parent.lower()}" in self.names)


class Certificate:
    """The server's certificate; new connections of `context` use the files as last loaded."""

    def __init__(self, settings: Server) -> None:
        """Read `server.tls_cert` and `server.tls_key`.

        Raises ServerError: `tls-unreadable`, `tls-mismatch`, `tls-unusable`.
        """
        self._cert, self._key = Path(settings.tls_cert), Path(settings.tls_key)
        # Before the files are read: a change in between is found by the next check.
        self._seen = self._stamps()
        self.context = _context(self._cert, self._key)
        self.facts = _facts(self.context, self._cert)

    def check(self, now: datetime) -> None:
        """Raise ServerError (`tls-expired`, `tls-not-yet-valid`) if browsers will refuse it."""
        if now >= self.facts.until:
            raise ServerError(
                "tls-expired",
                f"The certificate {self._cert} ended on {self.facts.until:%Y-%m-%d %H:%M} UTC.",
                "Renew it; the new one is taken up without a restart.",
            )
        if now < self.facts.since:
            raise ServerError(
                "tls-not-yet-valid",
                f"The certificate {self._cert} begins on {self.facts.since:%Y-%m-%d %H:%M} UTC.",
                "Set this machine's clock, if that has passed.",
            )

    @property
    def exposed(self) -> str:
        """The command that protects a key that other users of the machine can read, or ""."""
        # Windows has no such permissions: every file looks open there, and there is no chmod.
        is_open = _HAS_MODES and self._key.stat().st_mode & 0o004
        return f"chmod o-r {self._key}" if is_open else ""

    def tell(self) -> None:
        """Log its contents. An expired one stays in use: a page with a warning beats none."""
        facts = self.facts
        log.info("certificate", names=facts.names, until=facts.until.isoformat())
        if self.exposed:
            log.warning("certificate", code="tls-key-open", fix=self.exposed)
        try:
            self.check(datetime.now(UTC))
        except ServerError as error:
            log.warning("certificate", code=error.code, reason=str(error))

    def renew(self) -> bool:
        """Load the files if they have changed; return whether they are in use now.

        Files that cannot be used change nothing: the old certificate stays.
        """
        stamps = self._stamps()
        if stamps == self._seen:
            return False
        # Even if they cannot be used: the log reports it once per change, not at every check.
        self._seen = stamps
        try:
            # First in a separate context: a half-written pair must not reach the one in use.
            self.facts = _facts(_context(self._cert, self._key), self._cert)
            self.context.load_cert_chain(self._cert, self._key, _no_password)
        except (ServerError, OSError) as error:
            log.warning("certificate not renewed", reason=str(error))
            return False
        self.tell()
        return True

    def _stamps(self) -> list[Stamp | None]:
        return [stamp_of(path) for path in (self._cert, self._key)]


def trusting(cert: Path) -> ssl.SSLContext:
    """Return a client's context that accepts this one certificate, whatever its names and dates.

    Raises OSError if the file cannot be read, ssl.SSLError if it is no certificate.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    # The host's own certificate is trusted directly, without its issuer.
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN | _NO_CHECK_TIME
    context.load_verify_locations(cert)
    return context


def _no_password() -> str:
    """Return no password: OpenSSL would ask for one at the terminal, which nobody watches."""
    return ""


def _context(cert: Path, key: Path) -> ssl.SSLContext:
    for name, path in (("server.tls_cert", cert), ("server.tls_key", key)):
        try:
            # `load_cert_chain` does not say which of the two it could not read.
            with path.open("rb"):
                pass
        except OSError as problem:
            raise ServerError(
                "tls-unreadable",
                f"{name}: {path} cannot be read: {problem.strerror}.",
                "Correct the path, and let the user that the service runs as read it.",
            ) from None
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    try:
        context.load_cert_chain(cert, key, _no_password)
    except ssl.SSLError as problem:
        if problem.reason == "KEY_VALUES_MISMATCH":
            raise ServerError(
                "tls-mismatch",
                f"The key {key} does not belong to the certificate {cert}.",
                "Use the two files that were made together; the host's own certificate is first.",
            ) from None
        raise _unusable(cert, key, problem.reason or str(problem)) from None
    except ValueError:  # an empty password
        raise _unusable(cert, key, "the key is encrypted") from None
    return context


def _unusable(cert: Path, key: Path | None, reason: str) -> ServerError:
    return ServerError(
        "tls-unusable",
        f"{cert}{f' and {key}' if key else ''} cannot be used for https: {reason}.",
        "Both must be PEM text, the key without a password.",
    )


def _facts(served: ssl.SSLContext, cert: Path) -> Facts:
    try:
        peer = _handshake(served, trusting(cert))
    except ssl.SSLError as problem:
        raise _unusable(cert, None, problem.reason or str(problem)) from None
    pairs: Iterable[tuple[str, str]] = peer.get("subjectAltName", ())
    names = tuple(_plain(name) for _, name in pairs)
    since, until = _moment(peer["notBefore"]), _moment(peer["notAfter"])
    return Facts(names, since, until, is_public=_is_public(served, peer))


def _plain(name: str) -> str:
    """Return a name or address in the spelling that a page's address has."""
    try:
        return str(ip_address(name))  # `ssl` gives FD00:0:0:0:0:0:0:1 for fd00::1
    except ValueError:
        return name.lower()


def _is_public(served: ssl.SSLContext, peer: Mapping[str, Any]) -> bool:
    # mkcert makes this machine trust its certificates, but phones do not trust them.
    if "mkcert" in str(peer.get("issuer")):
        return False
    anybody = ssl.create_default_context()
    anybody.check_hostname = False
    # An expired certificate is still public: `check` handles its dates.
    anybody.verify_flags |= _NO_CHECK_TIME
    try:
        _handshake(served, anybody)
    except ssl.SSLCertVerificationError:
        return False
    return True


def _handshake(served: ssl.SSLContext, trusted: ssl.SSLContext) -> Mapping[str, Any]:
    """Do a TLS handshake with ourselves in memory; return the certificate that a browser gets.

    Raises ssl.SSLError.
    """
    # `ssl` decodes only a peer's certificate; its function for files is private.
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    browser = trusted.wrap_bio(to_client, to_server)
    waiting = [browser, served.wrap_bio(to_server, to_client, server_side=True)]
    # Each side in turn, until neither waits for the other.
    while waiting:
        waiting = [side for side in waiting if not _shaken(side)]
    return browser.getpeercert() or {}


def _shaken(side: ssl.SSLObject) -> bool:
    try:
        side.do_handshake()
    except ssl.SSLWantReadError:
        return False
    return True


def _moment(text: object) -> datetime:
    return datetime.fromtimestamp(ssl.cert_time_to_seconds(str(text)), UTC)
