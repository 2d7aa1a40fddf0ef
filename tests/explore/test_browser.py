"""The explorer's page in a headless Chromium, as a reader uses it."""

from __future__ import annotations

import csv
import http.client
import io
import re
import socket
import subprocess
import sys
from contextlib import closing
from fractions import Fraction
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.explore.conftest import PHONE, WIDE, Opened, missing, ours, serving

EVERYBODY = {"n_clients": "4", "law": "full", "local_steps": "1"}
SLIDERS = {  # of every law, by its name and its word on the page
    ("uniform", "uniform cohort"): ["cohort", "strong_convexity", "smoothness"],
    ("bernoulli_spread", "two probabilities"): ["p_min", "p_max"],
    ("bernoulli", "independent"): ["n_clients", "probability", "local_steps"],
    ("all_or_nothing", "all or nothing"): ["step_size"],
}


def settled(opened):
    """Wait until no slow layer is awaited."""
    busy = opened.page.locator(".busy").first
    busy.wait_for(state="detached", timeout=60_000)


def test_a_page_opens_with_all_its_plots_and_no_complaint(opened):
    here = opened()
    assert here.page.title() == "flverify explorer"
    assert here.page.locator("#map canvas").count() >= 1
    for name in ("stability boundary", "exact error", "band", "weights", "matrices"):
        columns = here.columns(name)
        assert all(len(values) > 0 for values in columns.values()), name
    assert here.page.locator("#notice").is_hidden()


@pytest.mark.slow
def test_every_slider_moves_its_number_and_the_view(opened):
    here = opened()
    for (law, label), names in SLIDERS.items():
        with here.answered():
            here.box("law").locator("select").select_option(label=label)
        for name in names:
            before = here.text(name).input_value()
            here.handle(name).focus()
            with here.answered():
                here.page.keyboard.press("ArrowRight")
            after = here.text(name).input_value()
            assert Fraction(after) > Fraction(before), name
        assert here.view()[names[-1]] == after
        assert here.view()["law"] == law


@pytest.mark.slow
def test_a_moved_slider_moves_the_point_and_the_lines(opened):
    here = opened(**EVERYBODY, algorithm="gradient_descent", over="kappa")
    boundary = here.columns("stability boundary")["y"]
    # gradient descent on the sum: stable up to 2 / (N L), here with N = 4 and L = 1
    assert boundary == pytest.approx([0.5] * len(boundary), rel=1e-3)
    here.enter("smoothness", "2")
    halved = here.columns("stability boundary")["y"]
    assert halved == pytest.approx([0.25] * len(halved), rel=1e-3)


@pytest.mark.slow
def test_a_click_on_the_map_moves_the_point_there(opened):
    here = opened(over="p")
    box = here.page.locator("#map .plot").bounding_box()
    with here.answered():
        here.page.mouse.click(
            box["x"] + 0.75 * box["width"], box["y"] + 0.4 * box["height"]
        )
    view, point = here.view(), here.columns("current point")
    assert view["step_size"] != "1/100"
    assert float(Fraction(view["probability"])) > 0.6
    assert point["y"] == [pytest.approx(float(view["step_size"]))]
    assert here.text("step_size").input_value() == view["step_size"]


def test_a_shared_address_shows_the_same_view_again(opened):
    here = opened(algorithm="scaffold", n_clients=5, law="uniform", cohort=2)
    here.text("step_size").fill("1/37")
    with here.answered():
        here.page.keyboard.press("Tab")
    view = here.view()
    curve = here.columns("exact error")
    here.page.reload()
    here.wait()
    again = opened(**view)
    for place in (here, again):
        assert place.view() == view
        assert place.text("step_size").input_value() == "1/37"
        chosen = place.box("algorithm").locator("select option:checked")
        assert chosen.inner_text() == "SCAFFOLD"
    assert again.columns("exact error") == curve


@pytest.mark.slow
def test_keys_keep_the_colours_of_the_plots_under_forced_colours(opened):
    here = opened()
    here.page.emulate_media(forced_colors="active")
    colour = "all => all.map(one => getComputedStyle(one).borderTopColor)"
    for plot in ("map", "law_matrices"):
        colours = here.page.locator(f"#{plot} .key i").evaluate_all(colour)
        assert len(colours) == len(set(colours)) > 1


BAD = {
    "step_size": ["", "-1", "0", "one", "1/0", "nan", "1e999", "1" * 60, "__import__"],
    "probability": ["2", "0", "-1/2"],
    "n_clients": ["0", "1.5", "1000", "x"],
    "strong_convexity": ["7"],  # above the smoothness
}


@pytest.mark.one_in(4)
@pytest.mark.parametrize("field", BAD)
def test_a_bad_value_gives_a_sentence_and_no_plot(opened, field):
    here = opened()
    notice = here.page.locator("#notice p")
    good = here.text(field).input_value()
    bad = {field} - {"strong_convexity"}  # which is bad beside another
    for value in BAD[field]:
        here.enter(field, value)
        assert "must" in notice.inner_text(), value
        assert "Traceback" not in notice.inner_text()
        assert not here.page.locator("#map .plot").is_visible()
        assert not here.page.locator("nav a").first.is_visible()
        assert {name for name in BAD if here.marked(name)} == bad, value
    here.enter(field, good)
    assert not here.marked(field)
    assert notice.count() == 0
    assert here.page.locator("#map .plot").is_visible()


@pytest.mark.slow
def test_two_values_that_do_not_fit_are_refused_together(opened):
    here = opened(algorithm="gradient_descent", local_steps=2)
    said = here.page.locator("#notice p").inner_text()
    assert said == (
        "gradient descent takes one local step per round; got 2; set local steps to 1."
    )
    here.enter("local_steps", "1")
    assert here.columns("exact error")["y"]


def test_typed_text_stays_text(opened):
    here = opened()
    here.enter("step_size", "<img src=x onerror=a()>")
    assert "<img src=x" in here.page.locator("#notice p").inner_text()
    assert here.page.locator("#notice img").count() == 0


def test_a_bad_address_gives_a_sentence(opened):
    here = opened(step_size="much", colour="<b>red</b>")
    said = here.page.locator("#notice p").inner_text()
    assert "'colour'" in said
    assert "first view" in said
    assert here.page.locator("#notice b").count() == 0
    assert here.page.locator("#map .plot").is_visible()
    assert here.view()["step_size"] == "1/100"
    here.enter("step_size", "1/5")
    assert here.page.locator("#notice").is_hidden()


@pytest.mark.slow
def test_a_message_names_a_number_as_the_page_does(opened):
    here = opened()
    for name, word in {"step_size": "step size η", "n_clients": "clients N"}.items():
        here.enter(name, "0")
        said = here.page.locator("#notice p").inner_text()
        assert said.startswith(f"{word} must"), said


@pytest.mark.slow
def test_a_page_without_its_server_says_so_and_shows_no_old_numbers(chromium):
    with serving() as (process, address):
        page = chromium.new_page()
        made = Opened(page, address).go(step_size="1/5")
        assert page.locator("#lost").is_hidden()
        assert page.locator("#map .plot").is_visible()
        process.terminate()
        page.locator("#lost").wait_for(state="visible")
    assert "start flverify explore again" in page.locator("#lost").inner_text()
    assert not page.locator("#map .plot").is_visible()
    assert not page.locator("nav a").first.is_visible()
    assert "step_size=1/5" in made.page.url
    page.close()


@pytest.mark.slow
def test_without_scripts_the_page_says_why_it_is_empty(chromium, served):
    for scripts in (False, True):
        with closing(chromium.new_context(java_script_enabled=scripts)) as context:
            page = context.new_page()
            page.goto(served)
            assert page.locator("noscript b").is_visible() is not scripts


@pytest.mark.slow
def test_the_view_is_exported_three_ways(opened, tmp_path: Path):
    here = opened(n_clients=3, step_size="1/7")
    here.view()  # the links have followed
    kept = {}
    for link in ("PNG", "CSV", "Python"):
        with here.page.expect_download() as waiting:
            here.page.get_by_role("link", name=link).click()
        path = tmp_path / waiting.value.suggested_filename
        waiting.value.save_as(path)
        kept[link] = path
    assert kept["PNG"].read_bytes().startswith(b"\x89PNG\r\n\x1a\n")
    rows = list(csv.reader(io.StringIO(kept["CSV"].read_text())))
    assert len(rows) > 20
    ran = subprocess.run(
        [sys.executable, kept["Python"]], capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stderr
    assert "1/7" in kept["Python"].read_text()


@pytest.mark.slow
def test_slow_layers_come_later_with_a_mark_and_only_the_newest(opened):
    here = opened(**EVERYBODY, algorithm="gradient_descent", over="n")
    busy = here.page.locator(".busy").first
    assert busy.is_visible()
    here.enter("smoothness", "4")  # while the first is on its way
    settled(here)
    certified = here.columns("certified boundary")
    assert certified["y"]
    stable = here.columns("stability boundary")
    limits = dict(zip(stable["x"], stable["y"], strict=True))
    for x, y in zip(certified["x"], certified["y"], strict=True):
        assert y <= limits[x] * (1 + 1e-6)  # of L = 4, not of L = 1
        assert y > limits[x] / 100


@pytest.mark.slow
def test_the_page_can_be_used_by_keyboard(opened):
    here = opened()
    seen = []
    for _ in range(30):
        here.page.keyboard.press("Tab")
        seen.append(
            here.page.evaluate(
                """() => {
                  let at = document.activeElement;
                  while (at.shadowRoot && at.shadowRoot.activeElement)
                    at = at.shadowRoot.activeElement;
                  const style = getComputedStyle(at);
                  const drawn = style.outlineStyle !== "none"
                    && parseFloat(style.outlineWidth) >= 1;
                  const word = at.getAttribute("aria-label") || at.textContent || at.id;
                  return [at.tagName, word.trim(), drawn, at.getAttribute("role")];
                }"""
            )
        )
        if seen[-1][0] == "BODY":
            break
    stops = [stop for stop in seen if stop[0] != "BODY"]
    assert stops[0][1] == "Skip to the results"
    assert all(drawn for _, _, drawn, _ in stops), stops
    sliders = [word for _, word, _, role in stops if role == "slider"]
    assert sliders == [
        "clients N",
        "probability p",
        "local steps τ",
        "step size η",
        "convexity μ",
        "smoothness L",
    ]
    assert [word for tag, word, *_ in stops if tag == "A"][1:] == [
        "PNG",
        "CSV",
        "Python",
    ]


@pytest.mark.slow
def test_a_moved_slider_says_its_number_at_once_and_not_its_place(opened):
    here = opened(step_size="1/50")
    here.view()
    handle = here.handle("step_size")
    handle.focus()
    handle.evaluate(
        """handle => {
          window.said = [];
          const seen = () => window.said.push(handle.getAttribute("aria-valuetext"));
          new MutationObserver(seen).observe(
            handle, { attributeFilter: ["aria-valuetext"] });
        }"""
    )
    with here.answered():
        here.page.keyboard.press("ArrowRight")
    here.view()
    assert set(here.page.evaluate("said")) == {here.text("step_size").input_value()}


@pytest.mark.slow
def test_pictures_say_what_they_are_and_are_no_stops_of_the_keyboard(opened):
    here = opened()
    here.view()
    pictures = here.page.locator(".plot [role=img]")
    words = [one.get_attribute("aria-label") for one in pictures.all()]
    assert len(words) == 4
    assert all("its numbers" in word or "their numbers" in word for word in words)
    stops = pictures.evaluate_all("all => all.map(one => one.tabIndex)")
    assert stops == [-1] * 4


@pytest.mark.slow
def test_a_slider_says_its_name_and_its_number(opened):
    here = opened(step_size="1/50")
    here.view()
    handle = here.handle("step_size")
    assert handle.get_attribute("aria-label") == "step size η"
    assert handle.get_attribute("aria-valuetext") == "1/50"


@pytest.mark.one_in(2)
@pytest.mark.parametrize("size", [WIDE, PHONE], ids=["1280", "390"])
def test_the_page_fits_its_width(opened, size):
    here = opened(size, law="bernoulli_spread")
    width, height = here.page.evaluate(
        "[document.documentElement.scrollWidth, document.documentElement.scrollHeight]"
    )
    assert width == size[0]
    if size == WIDE:
        assert height <= size[1]
    for part in ("map", "point", "errors", "law_matrices"):
        box = here.page.locator(f"#{part}").bounding_box()
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= size[0]
        assert box["height"] > 150
    text = here.page.evaluate(
        "parseFloat(getComputedStyle(document.querySelector('h2')).fontSize)"
    )
    assert text >= 12


@pytest.mark.slow
def test_a_complaint_and_a_request_elsewhere_would_be_noticed(opened):
    here = opened()
    here.page.evaluate("console.error('planted')")
    here.page.evaluate("fetch('http://192.0.2.1/planted').catch(() => 0); 0")
    here.page.wait_for_timeout(100)
    assert "planted" in here.complaints
    assert not all(ours(url, here.address) for url in here.asked)
    here.page.close()
    here.asked.clear()
    here.complaints.clear()


def test_where_they_are_required_these_tests_fail_rather_than_be_skipped(monkeypatch):
    monkeypatch.setenv("FLVERIFY_BROWSER", "required")
    with pytest.raises(pytest.fail.Exception, match="required"):
        missing("chromium is not installed")
    monkeypatch.delenv("FLVERIFY_BROWSER")
    with pytest.raises(pytest.skip.Exception, match="chromium is not installed"):
        missing("chromium is not installed")


# ------------------------------------------------------------- the server


def handshake(served: str, origin: str) -> int:
    """Ask for a websocket as a browser does for a page of some origin."""
    place = urlsplit(served)
    _, page = get(served, "/")
    token = re.search(r'"token":\s*"([^"]+)"', page.decode())
    assert token is not None
    headers = {
        "Origin": origin,
        "Upgrade": "websocket",
        "Connection": "Upgrade",
        "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
        "Sec-WebSocket-Version": "13",
        "Sec-WebSocket-Protocol": f"bokeh, {token.group(1)}",
    }
    link = http.client.HTTPConnection(place.hostname, place.port, timeout=10)
    with closing(link):
        link.request("GET", "/ws", headers=headers)
        answer = link.getresponse()
        with closing(answer):
            return answer.status


def test_a_page_of_another_origin_cannot_connect(served):
    place = urlsplit(served)
    assert handshake(served, f"http://{place.netloc}") == 101
    for foreign in ("http://evil.example", f"http://evil.example:{place.port}"):
        assert handshake(served, foreign) == 403


def asked_as(served: str, host: str, path: str) -> tuple[int, bytes]:
    """Ask for a path under some name of the server."""
    place = urlsplit(served)
    link = http.client.HTTPConnection(place.hostname, place.port, timeout=30)
    with closing(link):
        link.request("GET", path, headers={"Host": host})
        answer = link.getresponse()
        with closing(answer):
            return answer.status, answer.read()


@pytest.mark.parametrize("path", ["/", "/view.csv", "/ws", "/static/js/bokeh.min.js"])
def test_no_strange_name_is_answered(served, path):
    port = urlsplit(served).port
    for host in (f"evil.example:{port}", "evil.example", "localhost.evil.example"):
        status, content = asked_as(served, host, path)
        assert (status, content[:21]) == (403, b"The explorer answers ")
        assert content.count(b"\n") == 1


@pytest.mark.slow
def test_names_of_this_machine_are_answered(served):
    port = urlsplit(served).port
    for host in (
        "localhost",
        f"LOCALHOST:{port}",
        f"127.0.0.1:{port}",
        f"[::1]:{port}",
    ):
        assert asked_as(served, host, "/")[0] == 200


def test_other_addresses_of_this_machine_are_not_served(served):
    port = urlsplit(served).port
    with socket.create_connection(("127.0.0.1", port), timeout=5):
        pass
    with pytest.raises(OSError, match=r"refused|timed out|unreachable|assign"):
        socket.create_connection(("127.0.0.2", port), timeout=2)


def get(served: str, path: str) -> tuple[int, bytes]:
    place = urlsplit(served)
    link = http.client.HTTPConnection(place.hostname, place.port, timeout=30)
    with closing(link):
        link.request("GET", path)
        answer = link.getresponse()
        return answer.status, answer.read()


def test_a_bad_export_is_one_sentence(served):
    for kind in ("png", "csv", "py"):
        status, body = get(served, f"/view.{kind}?step_size=-1")
        assert status == 400
        assert body.decode().startswith("step_size must")
        assert b"Traceback" not in body


def test_no_module_is_imported_for_a_stranger(served):
    # Panel would import the module, look for its attribute, and say so
    assert get(served, "/components/antigravity/x/y")[0] == 404
    assert b"Component" not in get(served, "/components/this/x/y")[1]
