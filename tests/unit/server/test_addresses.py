from __future__ import annotations

import errno
import ipaddress
import os
import socket
from xml.etree import ElementTree as ET

import psutil
import pytest

from pipeline.config.schema import Server
from pipeline.server.addresses import local_address, own_address, page_address, qr_svg, unbound

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


def test_the_owner_of_a_taken_port_is_named() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        error = unbound(Server(port=port), OSError(errno.EADDRINUSE, "Address already in use"))
        assert f"(process {os.getpid()})" in error.message
    nobody = unbound(Server(port=1), OSError(errno.EADDRINUSE, "Address already in use"))
    assert "taken by another program" in nobody.message


def test_an_owner_that_ends_while_it_is_asked_is_another_program(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def gone(self: psutil.Process) -> str:
        raise psutil.NoSuchProcess(self.pid)

    monkeypatch.setattr(psutil.Process, "name", gone)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        error = unbound(Server(port=port), OSError(errno.EADDRINUSE, "Address already in use"))
    assert error.code == "port-in-use"
    assert "taken by another program" in error.message


def test_this_machine_opens_the_name_of_the_certificate() -> None:
    assert own_address(Server(host="0.0.0.0", port=80)) == "http://127.0.0.1:80/"
    secure = Server(
        host="0.0.0.0", tls_cert="a", tls_key="b", address="https://captions.example.org/"
    )
    assert own_address(secure) == "https://captions.example.org/"


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


def test_the_address_of_all_interfaces_is_this_machines() -> None:
    assert page_address("127.0.0.1", 8765) == "http://127.0.0.1:8765/"
    assert page_address("::1", 80) == "http://[::1]:80/"
    assert page_address("0.0.0.0", 80) == f"http://{local_address()}:80/"


def test_the_qr_code_is_an_image_of_the_address() -> None:
    root = ET.fromstring(qr_svg("http://192.168.1.20:8765/"))
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    assert "viewBox" in root.attrib  # so that it scales to any size
    assert root.findtext("{*}title") == "http://192.168.1.20:8765/"
    assert not [each for each in root.iter() if "style" in each.attrib]  # no inline style
    assert qr_svg("http://192.168.1.20:8765/") != qr_svg("http://192.168.1.21:8765/")
