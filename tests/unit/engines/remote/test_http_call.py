"""Requests over real sockets, to servers that are slow, gone, or no HTTP servers."""

from __future__ import annotations

import http.client
import socket
import ssl
import threading
import time
from contextlib import closing
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from pipeline.core.errors import EngineError
from pipeline.engines.remote.http_call import Head, HttpCall
from tests.support.certificates import make as make_certificate
from tests.support.model_servers import answers, go_on, says, scripted

PATIENT_S = 60.0


def call(url: str, *, within_s: float = PATIENT_S, tls: ssl.SSLContext | None = None) -> HttpCall:
    return HttpCall(
        urlsplit(url),
        "completions",
        headers={"Accept": "*/*"},
        until_s=time.monotonic() + within_s,
        body=b"{}",
        tls=tls,
    )


def refused(
    url: str, within_s: float = PATIENT_S, tls: ssl.SSLContext | None = None
) -> EngineError:
    with closing(call(url, within_s=within_s, tls=tls)) as made:
        with pytest.raises(EngineError) as raised:
            read(made)
        return raised.value


def read(made: HttpCall) -> None:
    made.head(go_on)
    while made.line(go_on) is not None:
        pass


def test_an_answer_comes_line_by_line_to_its_end() -> None:
    with scripted(answers(200, b"one\ntwo\nthree", "text/plain; x=y")) as server:
        with closing(call(server.url)) as made:
            assert made.head(go_on) == Head(200, "text/plain")
            assert [made.line(go_on) for _ in range(4)] == [b"one\n", b"two\n", b"three", None]
        path, headers, body = server.seen[0]
    assert (path, body) == ("/v1/completions", b"{}")
    assert headers["Connection"] == "close"


def test_a_name_that_nobody_has() -> None:
    error = refused("http://no-such-machine.invalid/v1")
    assert error.code == "server-gone"
    assert error.message.startswith("no-such-machine.invalid")


def test_one_that_takes_a_connection_and_says_nothing_is_late() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        error = refused(f"http://127.0.0.1:{silent.getsockname()[1]}/v1", within_s=0.1)
    assert error.code == "server-late"


def test_one_that_speaks_no_http() -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:

        def greet() -> None:
            connection, _ = other.accept()
            with connection:
                connection.sendall(b"SSH-2.0-OpenSSH_9.2\r\n")
                connection.recv(65536)

        thread = threading.Thread(target=greet)
        thread.start()
        error = refused(f"http://127.0.0.1:{other.getsockname()[1]}/v1")
        thread.join()
    assert error.code == "server-nonsense"
    assert "does not speak HTTP" in error.message


def test_one_that_answers_without_end_is_stopped() -> None:
    with scripted(answers(200, b"x" * 300_000, "text/plain")) as server:
        error = refused(server.url)
    assert (error.code, "without end" in error.message) == ("server-nonsense", True)


def test_closed_it_leaves_a_server_that_has_begun_and_is_silent() -> None:
    """It does not wait for the next word: a server may keep the request in a queue."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        with closing(call(f"http://127.0.0.1:{listener.getsockname()[1]}/v1")) as made:
            connection, _ = listener.accept()
            connection.sendall(
                b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Type: text/event-stream\r\n\r\n"
            )
            assert made.head(go_on).status == 200
        assert heard_until_the_end(connection).startswith(b"POST /v1/completions")


def test_closed_while_it_connects_it_asks_for_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    connected, may_go_on = http.client.HTTPConnection.connect, threading.Event()

    def connect(self: http.client.HTTPConnection) -> None:
        connected(self)
        may_go_on.wait(PATIENT_S)

    monkeypatch.setattr(http.client.HTTPConnection, "connect", connect)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        made = call(f"http://127.0.0.1:{listener.getsockname()[1]}/v1")
        connection, _ = listener.accept()
        made.close()
        may_go_on.set()
        assert heard_until_the_end(connection) == b""


def heard_until_the_end(connection: socket.socket) -> bytes:
    """Return all that the other side has sent; raise TimeoutError if it does not disconnect."""
    connection.settimeout(5.0)
    with connection:
        return b"".join(iter(lambda: connection.recv(65536), b""))


class TestTls:
    def test_a_certificate_that_is_trusted(self, tmp_path: Path) -> None:
        cert, key = make_certificate(tmp_path)
        theirs = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        theirs.load_cert_chain(cert, key)
        with scripted(says("Amén."), tls=theirs) as server:
            url = server.url.replace("http:", "https:")
            trusting = ssl.create_default_context(cafile=cert)
            with closing(call(url, tls=trusting)) as made:
                assert made.head(go_on).status == 200
            error = refused(url, tls=ssl.create_default_context())
        assert error.code == "server-untrusted"
        assert "not trusted" in error.message

    def test_https_where_there_is_http(self) -> None:
        with scripted() as server:
            url = server.url.replace("http:", "https:")
            error = refused(url, tls=ssl.create_default_context())
        assert (error.code, error.fix) == ("server-untrusted", "Is it http and not https?")
