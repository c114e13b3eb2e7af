from __future__ import annotations

import errno
import ipaddress
import socket

import pytest

from pipeline.config import Server
from pipeline.ports import local_address, unbound

SETTINGS = Server(host="192.0.2.7", port=80)


@pytest.mark.parametrize(
    ("problem", "code"),
    [
        (OSError(errno.EADDRINUSE, "Address already in use"), "port-in-use"),
        (OSError(errno.EACCES, "Permission denied"), "port-forbidden"),
        (PermissionError(errno.EPERM, "Operation not permitted"), "port-forbidden"),
        (OSError(errno.EADDRNOTAVAIL, "Cannot assign"), "address-unavailable"),
        (socket.gaierror(-2, "Name or service not known"), "address-unavailable"),
        (OSError("could not bind on any address"), "address-unavailable"),
    ],
)
def test_a_port_that_cannot_be_had_is_explained(problem: OSError, code: str) -> None:
    error = unbound(SETTINGS, problem)
    assert error.code == code
    assert "80" in error.message
    assert "192.0.2.7" in error.message
    assert "server." in error.fix


def test_the_local_address_is_one_of_this_machine() -> None:
    address = local_address()
    assert ipaddress.ip_address(address).version == 4
    with socket.create_server((address, 0)):
        """Only an address of this machine can be bound."""


def test_without_a_network_it_is_the_loopback(monkeypatch: pytest.MonkeyPatch) -> None:
    def unreachable(self: socket.socket, address: object) -> None:
        raise OSError(errno.ENETUNREACH, "Network is unreachable")

    monkeypatch.setattr(socket.socket, "connect", unreachable)
    assert local_address() == "127.0.0.1"
