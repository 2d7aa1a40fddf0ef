"""Files that are asked for and waited for no longer."""

from __future__ import annotations

import asyncio
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec

import pytest

if find_spec("panel") is None or find_spec("bokeh") is None:
    pytest.skip("the extra explorer is not installed", allow_module_level=True)

from tornado.httpserver import HTTPServer
from tornado.netutil import bind_sockets
from tornado.web import Application

from flverify.explore import downloads
from flverify.explore.view import View


@pytest.fixture
def begun(monkeypatch):
    """Let files take until they are let go, and note those that are begun."""
    seen, go = [], threading.Event()

    def slow(view, kind):
        seen.append(view.n_clients)
        assert go.wait(60)
        return kind.encode()

    monkeypatch.setattr(downloads, "made", slow)
    yield seen, go
    go.set()


async def until(count):
    """Wait until so many files are asked for."""
    for _ in range(600):
        if len(downloads._ASKED) == count:
            return
        await asyncio.sleep(0.02)
    pytest.fail(f"{len(downloads._ASKED)} files are asked for, not {count}")


async def second_reader_leaves(go):
    """Ask for three files, leave one reader out, and return the last answer."""
    server, (place,) = HTTPServer(served()), bind_sockets(0, "127.0.0.1")
    server.add_sockets([place])
    links = []
    for count in (1, 2, 3):
        links.append(await asyncio.open_connection(*place.getsockname()))
        asks = f"GET /view.csv?n_clients={count} HTTP/1.1\r\nHost: a\r\n\r\n"
        links[-1][1].write(asks.encode())
        await until(count)
    links[1][1].close()
    await until(2)
    go.set()
    answer = await asyncio.wait_for(links[2][0].readuntil(b"\r\n\r\n"), 60)
    for _, writer in links:
        writer.close()
    server.stop()
    return answer


def served():
    return Application([(r"/view\.(csv)", downloads.Download)])


def test_a_file_that_nobody_waits_for_is_not_begun(begun):
    seen, go = begun
    # a browser that was tested before may have left a loop in this thread
    with ThreadPoolExecutor(1) as other:
        answer = other.submit(lambda: asyncio.run(second_reader_leaves(go))).result()
    assert answer.startswith(b"HTTP/1.1 200 OK")
    assert seen == [1, 3]


def test_a_server_that_ends_begins_no_file(begun):
    seen, go = begun
    first, *others = [downloads.asked(View(n_clients=n), "csv") for n in (1, 2, 3)]
    while not seen:
        time.sleep(0.01)
    downloads.leave_out()
    go.set()
    assert first.result(60) == b"csv"
    assert all(one.cancelled() for one in others)
    assert seen == [1]
