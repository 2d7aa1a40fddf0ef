"""The server of the page: which address it has, who may connect, what else it answers.

Beside the page it answers three addresses with the view as a file, and refuses Panel's
own door to resources of Python modules, which would import a module that a stranger
names.
"""

from __future__ import annotations

import inspect
import ipaddress
import logging
import os
import socket
import webbrowser
from collections.abc import Callable, Sequence
from traceback import walk_tb

import panel as pn
from bokeh.server.server import Server
from bokeh.server.views.ws import WSHandler
from tornado.web import RequestHandler
from tornado.websocket import WebSocketClosedError

from flverify._core.errors import InputError
from flverify.explore import app, layers
from flverify.explore.downloads import Download, leave_out
from flverify.explore.hosts import LOCAL, answer_only

_LOCAL_NAMES = ("127.0.0.1", "localhost")
# milliseconds: a page that was left ends, and its slow layers with it
_LOOK, _LEFT = 1000, 5000
_LOGS = ("asyncio", "tornado.application")
_ENTERED = inspect.unwrap(WSHandler.open).__code__  # before there is a session
_PRELOAD = ("flverify.explore.slow", "cvxpy")


class _Closed(RequestHandler):
    """Answers nothing."""

    def get(self, *_rest: str) -> None:
        """Say that there is nothing here."""
        self.send_error(404)


def make_server(address: str, port: int, origins: Sequence[str] = ()) -> Server:
    """Return a server that listens and is not yet started.

    Parameters
    ----------
    address : str
        The address to listen on.
    port : int
        The port; 0 for one that is free.
    origins : sequence of str
        HOST:PORT of pages that may connect, beside the server's own.

    Raises
    ------
    InputError
        If the address cannot be taken, or an origin is no HOST:PORT.
    """
    if not address:  # which would be every address of this machine
        raise InputError(
            "the address must be one of this machine; got ''; write for example "
            "127.0.0.1."
        )
    for origin in origins:
        _require_origin(origin)
    port = _free_port(address, port)
    layers.prepare(*_PRELOAD)
    serve: Callable[..., Server] = pn.serve
    try:
        server = serve(
            {"/": app.page},
            port=port,
            address=address,
            websocket_origin=f"localhost:{port}",  # replaced below
            show=False,
            start=False,
            verbose=False,
            title="flverify explorer",
            location=False,
            admin=False,
            check_unused_sessions_milliseconds=_LOOK,
            unused_session_lifetime_milliseconds=_LEFT,
            extra_patterns=[
                (r"/view\.(png|csv|py)", Download),
                (r"/components/(.*)", _Closed),
            ],
        )
    except OSError as error:
        raise _taken(address, port, error) from error
    _let_connect(server, [*_own_origins(address, port), *origins])
    answer_only(server._tornado, _names(address, origins))
    return server


def _let_connect(server: Server, origins: Sequence[str]) -> None:
    """Let pages of some origins connect, and no others; Bokeh takes no IPv6 address."""
    allowed = server._tornado.websocket_origins
    allowed.clear()
    allowed.update(origins)


def url(server: Server, query: str = "") -> str:
    """Return the address of the page of a server."""
    host = server.address or "localhost"
    return f"http://{_host(host)}:{server.port}/{'?' + query if query else ''}"


def run(server: Server, show: str | None = None) -> None:
    """Answer until interrupted; perhaps open a browser at an address first."""
    server.start()
    if show is not None:
        server.io_loop.add_callback(lambda: _open(show))
    logs = [logging.getLogger(name) for name in _LOGS]
    for log in logs:
        log.addFilter(_worth_telling)
    try:
        server.io_loop.start()
    finally:
        for log in logs:
            log.removeFilter(_worth_telling)
        leave_out()
    server.stop()


def _worth_telling(record: logging.LogRecord) -> bool:
    """Whether a record is more than a page that was closed while it was answered.

    Nor is it told that a page was refused, as one that is open for too long or forged.
    """
    error = record.exc_info[1] if record.exc_info else None
    if error is None or isinstance(error, WebSocketClosedError):
        return error is None
    frames = walk_tb(error.__traceback__)
    return all(frame.f_code is not _ENTERED for frame, _ in frames)


def _open(address: str) -> None:

    webbrowser.open(address)


def _own_origins(address: str, port: int) -> list[str]:
    """Hosts by which a browser reaches an address."""
    names = _LOCAL_NAMES if _is_local(address) else ()
    return [f"{name}:{port}" for name in dict.fromkeys((*names, _host(address)))]


def _names(address: str, origins: Sequence[str]) -> list[str]:
    """Hosts under which a server answers, without their ports."""
    return [*LOCAL, _host(address), *(one.rpartition(":")[0] for one in origins)]


def _host(address: str) -> str:
    """Write an address as a browser does."""
    return f"[{address}]" if ":" in address else address


def _is_local(address: str) -> bool:
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return address == "localhost"
    return parsed.is_loopback or parsed.is_unspecified


def _free_port(address: str, port: int) -> int:
    """Return a port that can be had; found out here, with sockets that are closed."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    try:
        with socket.socket(family) as probe:
            if os.name == "posix":  # elsewhere it lets two servers share a port
                probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind((address, port))
            found: int = probe.getsockname()[1]
    except OSError as error:
        raise _taken(address, port, error) from error
    return found


def _taken(address: str, port: int, error: OSError) -> InputError:
    return InputError(
        f"the address and the port must be free on this machine; got {address} and "
        f"{port}: {error.strerror or error}; choose another --port or --address."
    )


def _require_origin(text: str) -> None:
    host, _, port = text.rpartition(":")
    if (
        not host
        or (":" in host and (host[0], host[-1]) != ("[", "]"))
        or "*" in host
        or "/" in host
        or not port.isascii()
        or not port.isdigit()
    ):
        raise InputError(
            f"an origin must be HOST:PORT; got {text!r}; write for example "
            "lab.example.org:5006."
        )
