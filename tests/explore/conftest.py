"""The explorer's server in a process of its own, and a headless Chromium before it.

Without Chromium or playwright the tests of the page are skipped with the reason, unless
FLVERIFY_BROWSER is `required`, as where the tests must not be skipped unseen.
"""

from __future__ import annotations

import multiprocessing
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

import pytest

from flverify.explore.layers import SlowLayer

try:
    from playwright.sync_api import sync_playwright
except ImportError:
    sync_playwright = None

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
SERVE = "from flverify.commands.explore import command; command()"
WIDE, PHONE = (1280, 800), (390, 844)
# the number of the last answer, as text; null before the page is drawn
STATE = """() => {
  const here = window.Bokeh && Bokeh.documents && Bokeh.documents[0];
  const address = here && here.is_idle && here.get_model_by_name("address");
  return address ? address.tags[0] : null;
}"""


@pytest.fixture(autouse=True)
def no_layer_works_on(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """End the slow layers of a test, whose processes others would count as theirs."""
    begun: list[SlowLayer] = []
    init = SlowLayer.__init__

    def noted(layer: SlowLayer, *parts: Any, **named: Any) -> None:
        init(layer, *parts, **named)
        begun.append(layer)

    monkeypatch.setattr(SlowLayer, "__init__", noted)
    yield
    for layer in begun:
        layer.end()
    for child in multiprocessing.active_children():
        child.join(10)


def missing(reason: str) -> None:
    if os.environ.get("FLVERIFY_BROWSER") == "required":
        pytest.fail(f"FLVERIFY_BROWSER is required, but {reason}")
    pytest.skip(f"{reason}; install it to test the explorer's page")


@pytest.fixture(scope="session")
def chromium() -> Iterator[Any]:
    """A headless Chromium: Debian's own, never one that is downloaded."""
    if sync_playwright is None:
        missing("playwright is not installed")
    program = next(filter(None, map(shutil.which, NAMES)), None)
    if program is None:
        missing("chromium is not installed")
    with sync_playwright() as playwright:
        # the sandbox cannot be had by root, as which many test machines run
        browser = playwright.chromium.launch(
            executable_path=program, args=["--no-sandbox", "--disable-gpu"]
        )
        yield browser
        browser.close()


@contextmanager
def serving() -> Iterator[tuple[Any, str]]:
    """A running explorer, `flverify explore` itself, and its address."""
    if find_spec("panel") is None:
        missing("panel is not installed")
    arguments = [sys.executable, "-c", SERVE, "--port", "0", "--no-browser"]
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True) as process:
        try:
            line = process.stdout.readline()
            assert line.startswith("explorer at http://127.0.0.1:"), line
            yield process, line.split()[-1]
        finally:
            process.terminate()


@pytest.fixture(scope="session")
def served() -> Iterator[str]:
    """The address of a running explorer."""
    with serving() as (_, address):
        yield address


@dataclass
class Opened:
    """One open page, and everything that it asked for or complained about."""

    page: Any
    address: str
    asked: list[str] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)

    def go(self, **fields: object) -> Opened:
        """Open the view with some fields and wait until it is drawn."""
        query = urlencode(fields)
        self.page.goto(f"{self.address}?{query}" if query else self.address)
        self.wait()
        return self

    def wait(self) -> None:
        """Wait until the page is drawn."""
        self.page.wait_for_function(f"({STATE})() !== null", polling=20)
        self.page.wait_for_selector(".control .noUi-handle")

    @property
    def answers(self) -> int:
        """How many times the page was answered."""
        return int(self.page.evaluate(STATE))

    @contextmanager
    def answered(self) -> Iterator[None]:
        """Do something and wait until the page is answered anew."""
        before = self.answers
        yield
        self.page.wait_for_function(f"Number(({STATE})()) > {before}", polling=20)

    def view(self) -> dict[str, str]:
        """The view that the address bar holds, after it had time to follow."""
        self.page.wait_for_timeout(300)
        return dict(parse_qsl(urlsplit(self.page.url).query))

    def box(self, name: str) -> Any:
        """The part of the page with a control or a text."""
        return self.page.locator(f".control[data-name={name}]")

    def text(self, name: str) -> Any:
        """The input of a number."""
        return self.box(name).locator("input")

    def marked(self, name: str) -> bool:
        """Whether the input of a number says that it is bad."""
        return self.text(name).get_attribute("aria-invalid") == "true"

    def handle(self, name: str) -> Any:
        """The handle of a slider."""
        return self.box(name).locator(".noUi-handle")

    def enter(self, name: str, value: str) -> None:
        """Type a number and wait for the answer."""
        self.text(name).fill(value)
        with self.answered():
            self.page.keyboard.press("Enter")

    def columns(self, name: str) -> dict[str, list[Any]]:
        """The columns that a plot draws."""
        return self.page.evaluate(
            """name => {
              const data = Bokeh.documents[0].get_model_by_name(name).data;
              const entries = data instanceof Map ? [...data] : Object.entries(data);
              return Object.fromEntries(entries.map(([k, v]) => [k, Array.from(v)]));
            }""",
            name,
        )


@pytest.fixture
def opened(chromium: Any, served: str) -> Iterator[Callable[..., Opened]]:
    """Open pages; afterwards none of them may have complained or asked elsewhere."""
    contexts, pages = [], []

    def make(size: tuple[int, int] = WIDE, **fields: object) -> Opened:
        width, height = size
        context = chromium.new_context(viewport={"width": width, "height": height})
        contexts.append(context)
        made = Opened(context.new_page(), served)
        pages.append(made)
        watch(made)
        return made.go(**fields)

    yield make
    for context in contexts:
        context.close()
    for made in pages:
        assert made.complaints == []
        elsewhere = [url for url in made.asked if not ours(url, served)]
        assert elsewhere == []


def watch(made: Opened) -> None:
    """Write down requests, websockets, errors and warnings of a page."""
    page = made.page
    page.on("request", lambda request: made.asked.append(request.url))
    page.on("websocket", lambda socket: made.asked.append(socket.url))
    page.on("pageerror", lambda error: made.complaints.append(str(error)))
    page.on(
        "console",
        lambda message: (
            made.complaints.append(message.text)
            if message.type in {"error", "warning"}
            else None
        ),
    )


def ours(url: str, served: str) -> bool:
    """Whether an address is the server's own, or data inside the page."""
    parts = urlsplit(url)
    return parts.scheme in {"data", "blob"} or parts.netloc == urlsplit(served).netloc
