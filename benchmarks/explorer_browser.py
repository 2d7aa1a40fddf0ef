"""The explorer's page in a headless Chromium: first plot, and answers to a slider.

The server runs in a process of its own, is warmed up by one page and is idle
otherwise. A first plot counts from the start of navigation to two frames after the
document is drawn; an answer from the key press to two frames after the last fast layer
has reached the browser. Both clocks are the page's own.
"""

from __future__ import annotations

import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from typing import Any

from benchmarks._rows import Row, skipped

try:
    from playwright.sync_api import sync_playwright
except ImportError:
    sync_playwright = None

FIRST, ANSWER = 2.0, 0.15  # seconds, at most
MOVES = {
    "step_size": 12,
    "probability": 8,
    "strong_convexity": 8,
    "smoothness": 6,
    "local_steps": 6,
}
NAMES = ("first meaningful plot of the page", "fast layers after a slider move, N = 16")
_LEFT = 8  # seconds after which the server has ended what a closed page asked for
_SERVE = "from flverify.cli import main; main()"
_SERVE_ARGUMENTS = ("explore", "--port", "0", "--no-browser")

# tells when the document is drawn, and times answers from the last key press on
_WATCH = """
window.answers = [];
window.drawn = new Promise(resolve => {
  const frames = then => requestAnimationFrame(() => requestAnimationFrame(then));
  const look = () => {
    const here = window.Bokeh && Bokeh.documents && Bokeh.documents[0];
    if (!here || !here.is_idle) return setTimeout(look, 4);
    const address = here.get_model_by_name("address");
    let pressed = 0;
    document.addEventListener("keydown", () => { pressed = performance.now(); }, true);
    address.properties.tags.change.connect(() => frames(
      () => window.answers.push(performance.now() - pressed)));
    frames(() => resolve(performance.now()));
  };
  look();
});
"""


def rows(quick: bool) -> list[Row]:
    """Measure pages and slider moves, or say why not."""
    program = shutil.which("chromium") or shutil.which("google-chrome")
    if find_spec("panel") is None or sync_playwright is None:
        missing = "panel or playwright is not installed"
        return [skipped(name, missing) for name in NAMES]
    if program is None:
        return [skipped(name, "chromium is not installed") for name in NAMES]
    with _served() as address, _browser(program) as browser:
        _first_plot(browser, address)
        firsts = [_first_plot(browser, address) for _ in range(2 if quick else 5)]
        answers = _answers(browser, address, 1 if quick else 4)
    note = f"median of {len(firsts)} pages after one"
    told = f"median of {len(answers)} moves; 90 % below {_high(answers):.3f} s"
    return [
        Row(NAMES[0], statistics.median(firsts), target=FIRST, note=note),
        Row(NAMES[1], statistics.median(answers), target=ANSWER, note=told),
    ]


def _first_plot(browser: Any, address: str) -> float:
    page = _page(browser)
    page.goto(address)
    taken = float(page.evaluate("window.drawn")) / 1000
    page.context.close()
    time.sleep(_LEFT)
    return taken


def _answers(browser: Any, address: str, share: int) -> list[float]:
    """Move sliders one place at a time and wait for each answer."""
    page = _page(browser)
    page.goto(f"{address}?n_clients=16&strong_convexity=1/10")
    page.evaluate("window.drawn")
    _settle(page)
    for name, moves in MOVES.items():
        handle = page.locator(f".control[data-name={name}] .noUi-handle")
        handle.focus()
        for _ in range(max(1, moves * share // 4)):
            before = page.evaluate("window.answers.length")
            page.keyboard.press("ArrowRight")
            page.wait_for_function(f"window.answers.length > {before}", polling=10)
    found = [taken / 1000 for taken in page.evaluate("window.answers")]
    page.context.close()
    return found


def _settle(page: Any) -> None:
    """Wait for the slow layers, so that the server is idle."""
    page.locator(".busy").first.wait_for(state="detached", timeout=600_000)


def _high(values: list[float]) -> float:
    return sorted(values)[int(0.9 * len(values))]


def _page(browser: Any) -> Any:
    context = browser.new_context(viewport={"width": 1280, "height": 800})
    page = context.new_page()
    page.add_init_script(_WATCH)
    return page


@contextmanager
def _served() -> Iterator[str]:
    arguments = [sys.executable, "-c", _SERVE, *_SERVE_ARGUMENTS]
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True) as process:
        try:
            line = process.stdout.readline() if process.stdout else ""
            yield line.split()[-1]
        finally:
            process.terminate()


@contextmanager
def _browser(program: str) -> Iterator[Any]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=program, args=["--no-sandbox", "--disable-gpu"]
        )
        yield browser
        browser.close()
