"""The page without a browser: slow layers, controls, the session and its server."""

from __future__ import annotations

import inspect
import logging
import os
import re
import subprocess
import sys
import threading
import time
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from unittest.mock import Mock

import pytest

if find_spec("panel") is None or find_spec("bokeh") is None:
    pytest.skip("the extra explorer is not installed", allow_module_level=True)

from bokeh.document import Document
from bokeh.models import InlineStyleSheet
from bokeh.protocol.exceptions import ProtocolError
from bokeh.server.views.ws import WSHandler
from tornado.httputil import HTTPHeaders, HTTPServerRequest, RequestStartLine
from tornado.web import Application
from tornado.websocket import WebSocketClosedError

from flverify._core.errors import InputError
from flverify.explore import _css, downloads, found, server
from flverify.explore.app import Session, _query
from flverify.explore.controls import NUMBERS, Controls
from flverify.explore.hosts import Stranger, answer_only
from flverify.explore.layers import Arrival, SlowLayer
from flverify.explore.point_table import table
from flverify.explore.scales import geometric, hundredths
from flverify.explore.slices import CertifiedRow, PointRow, boundary, point
from flverify.explore.view import ALGORITHMS, View
from tests.explore.works import count, end_at_once, refuse, sleep_then

# ------------------------------------------------------------ slow layers


class Heard:
    """Keeps arrivals and waits for them."""

    def __init__(self, work, pause=0.0):
        self.arrivals, self.more = [], threading.Condition()
        self.layer = SlowLayer("layer", work, self.deliver, pause)

    def deliver(self, arrival):
        with self.more:
            self.arrivals.append(arrival)
            self.more.notify_all()

    def wait(self, ready):
        with self.more:
            assert self.more.wait_for(lambda: ready(self.arrivals), timeout=60)
        return self.arrivals


def ended(arrivals):
    return bool(arrivals) and arrivals[-1].piece is None


def test_a_layer_arrives_piece_by_piece_and_says_when_it_ends():
    heard = Heard(count)
    assert heard.layer.ask(3, "three")
    pieces = [arrival.piece for arrival in heard.wait(ended)]
    assert pieces == [0, 1, 2, None]
    assert all(heard.layer.is_newest(arrival) for arrival in heard.arrivals)


def test_a_newer_request_ends_the_older_and_makes_it_stale():
    heard = Heard(sleep_then)
    heard.layer.ask(600, "slow")
    old = heard.layer.number
    begun = time.monotonic()
    heard.layer.ask(0, "fast")
    arrivals = heard.wait(ended)
    assert time.monotonic() - begun < 60
    assert all(heard.layer.is_newest(arrival) for arrival in arrivals)
    assert not heard.layer.is_newest(Arrival("layer", old, "late"))


def test_the_same_request_goes_on():
    heard = Heard(count)
    assert heard.layer.ask(1, "same")
    number = heard.layer.number
    assert not heard.layer.ask(1, "same")
    assert heard.layer.number == number
    heard.wait(ended)
    assert not heard.layer.ask(1, "same")
    heard.layer.end()
    assert heard.layer.ask(1, "same")
    heard.layer.end()


@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
def test_no_interrupt_reaches_the_fork_server_while_it_loads():
    code = (
        "from queue import Queue\n"
        "from flverify.explore.layers import SlowLayer, prepare\n"
        "from tests.explore.works import deaf\n"
        "prepare()\n"
        "heard = Queue()\n"
        "SlowLayer('x', deaf, heard.put, pause=0).ask(None, 1)\n"
        "print(heard.get().piece)"
    )
    words = [sys.executable, "-c", code]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    assert done.stdout == "True\n"


def test_a_moving_slider_starts_no_process():
    heard = Heard(count, pause=0.5)
    for k in range(20):
        heard.layer.ask(1, k)
    heard.wait(ended)
    assert len(heard.arrivals) == 2  # one piece and the end, of the last request


def test_what_a_layer_refuses_is_a_sentence():
    heard = Heard(refuse)
    heard.layer.ask("it must be so; it is not; change it.", 1)
    last = heard.wait(ended)[-1]
    assert last.problem == "it must be so; it is not; change it."


def test_a_process_that_is_ended_is_a_sentence():
    heard = Heard(end_at_once)
    heard.layer.ask(None, 1)
    assert "was ended" in heard.wait(ended)[-1].problem


# --------------------------------------------------------------- controls


def controls():
    told = []
    choices = {"algorithm": {"focus": "FOCUS", "fedavg": "FedAvg"}}
    sheet = InlineStyleSheet(css="")
    made = Controls(
        choices,
        {"algorithm": "algorithm"},
        sheet,
        sheet,
        lambda field, text: told.append((field, text)),
    )
    return made, told


def widgets(made, field):
    text, slider = made[field].children
    return text, slider


def test_a_slider_writes_its_number_and_tells_it_once():
    made, told = controls()
    text, slider = widgets(made, "probability")
    slider.value = 49
    assert text.value == "0.5"
    assert told == [("probability", "0.5")]


def test_a_typed_number_moves_the_slider_and_keeps_its_text():
    made, told = controls()
    text, slider = widgets(made, "probability")
    text.value = "1/3"
    assert hundredths(1, 100).texts[slider.value] == "0.33"
    assert (text.value, told) == ("1/3", [("probability", "1/3")])


def test_what_the_page_shows_is_told_to_nobody_even_when_the_document_is_held():
    made, told = controls()
    document = Document()
    document.add_root(made["step_size"])
    document.hold("combine")
    made.show({"step_size": "0.0525", "algorithm": "fedavg"})
    document.unhold()
    text, slider = widgets(made, "step_size")
    assert geometric(-5, 1, 40).texts[slider.value] == "0.0531"
    assert (text.value, told) == ("0.0525", [])


@pytest.mark.parametrize("place", [10**6, -3, 2.5])
def test_a_place_that_no_slider_has_is_a_number_of_its_scale(place):
    made, told = controls()
    _, slider = widgets(made, "probability")
    slider.value = place
    ((_, text),) = told
    assert text in hundredths(1, 100).texts


def test_every_number_of_a_view_has_a_control():
    words = {"algorithm", "law", "over"}
    assert {n.field for n in NUMBERS} == View.__dataclass_fields__.keys() - words


def luminance(colour):
    parts = [int(colour[k : k + 2], 16) / 255 for k in (1, 3, 5)]
    linear = [((c + 0.055) / 1.055) ** 2.4 if c > 0.04045 else c / 12.92 for c in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def test_what_the_keyboard_is_on_is_seen_beside_white():
    sheet = _css.WIDGET.replace("var(--go)", "#0b57a4")
    rings = re.findall(r"outline: \dpx solid (#[0-9a-f]{6})", sheet)
    assert len(rings) == 2
    for ring in rings:  # three to one, as guidelines of the web ask for
        assert 1.05 / (luminance(ring) + 0.05) >= 3, ring


# ---------------------------------------------------------------- session


CERTIFIED_ROW = CertifiedRow(2.0, "2", 0.9, 1.0, True, "")


def opened(query=""):
    document = Document()
    session = Session(document, query)
    session.page.fill(document)
    return session


def shown(session):
    return session.page.texts["address"].text, session.page.texts["notice"].text


def change(session, **texts):
    """Type into fields and answer at once, as the server does some time later."""
    for name, text in texts.items():
        session._changed(name, text)
    session._answer()


def test_a_session_shows_the_tables_of_its_view():
    view = View(n_clients=3, step_size="1/30")
    session = opened(view.to_query())
    rows = boundary(view).rows
    assert session.page.map.exact.data["y"] == [row.boundary for row in rows]
    assert session.page.map.printed.data["y"] == [row.printed_cap for row in rows]
    assert session.page.map.point.data["y"] == [1 / 30]
    for row in point(view).rows:
        assert row.text in session.page.texts["point_table"].text
    assert shown(session) == (view.to_query(), "")
    session._destroyed(None)


@pytest.mark.one_in(3)
@pytest.mark.parametrize("over", ["p", "tau", "n", "kappa"])
def test_a_session_begins_by_awaiting_the_slow_layers(over):
    session = opened(View(over=over).to_query())
    assert "busy" in session.page.texts["map_key"].text
    assert "busy" in session.page.texts["point_table"].text
    session._destroyed(None)


def test_a_map_that_comes_back_has_its_key_again():
    session = opened("algorithm=gradient_descent&local_steps=1&over=n&n_clients=2")
    session._shown._kept.update(dict.fromkeys(session._shown._axis.keys, CERTIFIED_ROW))
    change(session, over="tau")
    assert "no local steps" in session.page.texts["map_key"].text
    assert not session.page.map.figure.visible
    change(session, over="n")
    assert "no printed cap" in session.page.texts["map_key"].text
    assert session.page.map.figure.visible
    assert session.page.map.certified.data["y"]
    session._destroyed(None)


def test_the_keys_name_what_is_drawn():
    session = opened()
    texts = session.page.texts
    assert "no printed cap" not in texts["map_key"].text
    assert "exact" not in texts["map_key"].text  # the boundary is one of floats
    assert "p<sub>i</sub>" in texts["law_key"].text
    assert "q<sub>i</sub>" in texts["law_key"].text
    change(session, algorithm="scaffold")
    assert "no printed cap" in texts["map_key"].text
    session._destroyed(None)


@pytest.mark.parametrize("plot", ["weights", "errors"])
def test_clients_and_rounds_are_counted_in_whole_numbers(plot):
    session = opened("n_clients=2&law=full")
    (axis,) = getattr(session.page, plot).figure.xaxis
    assert axis.ticker.min_interval == 1
    assert axis.ticker.num_minor_ticks == 0
    session._destroyed(None)


@pytest.mark.parametrize("clients", [2, 100])
def test_small_weights_have_an_axis_on_which_they_are_seen(clients):
    session = opened(f"n_clients={clients}&law=full")
    figure = session.page.weights.figure
    (weights,) = [r for r in figure.renderers if r.glyph.top == "q"]
    (right,) = figure.right
    assert right.y_range_name == weights.y_range_name == "q"
    assert right.axis_label == "qᵢ"
    assert 1 < figure.extra_y_ranges["q"].end * clients < 1.2
    (chances,) = [r for r in figure.renderers if r.glyph.top == "p"]
    assert chances.y_range_name == "default"
    assert 1 < figure.y_range.end < 1.2
    low = session.page.weights.shown.data["low"][0]
    assert low == (0 if clients == 2 else pytest.approx(0.95))  # above the bar of q
    session._destroyed(None)


@pytest.mark.parametrize(
    "query",
    [
        "algorithm=proxskip&law=all_or_nothing&local_steps=1&step_size=1",
        "step_size=0.00001&n_clients=1",  # errors between 1 and 1/100
    ],
)
def test_a_map_has_more_than_two_decades(query):
    # where fewer are shown, the names of 10, 9, 8, ... stand upon one another; and 1 to
    # 1/100 are fewer than two in floats
    session = opened(query)
    for plot in (session.page.map, session.page.errors):
        shown_range = plot.figure.y_range
        assert shown_range.end / shown_range.start > 101
    session._destroyed(None)


def test_errors_that_grow_out_of_the_plot_at_once_leave_its_axes():
    session = opened("step_size=999999")
    assert len(session.page.errors.exact.data["x"]) == 1
    axis = session.page.errors.figure.x_range
    assert (axis.start, axis.end) == (0, 1)
    key = session.page.texts["errors_key"]
    assert "exact, above 1e12 in round 1" in key.text
    assert "above" not in opened().page.texts["errors_key"].text


def test_refused_text_keeps_the_last_address_and_says_why():
    session = opened()
    address, _ = shown(session)
    change(session, step_size="<b>")
    kept, said = shown(session)
    assert kept == address
    assert "step size η" in said
    assert "step_size" not in said
    assert "<b>" not in said
    assert session.page.texts["notice"].tags == ["refused", "step_size"]
    change(session, step_size="1/9")
    assert shown(session)[1] == ""
    assert session.page.texts["notice"].tags == []
    session._destroyed(None)


def test_a_bad_address_shows_the_first_view_with_the_reason():
    session = opened("step_size=much")
    address, said = shown(session)
    assert address == View().to_query()
    assert said.startswith("<p>step_size: ")  # as the address names it
    assert said.endswith("The page shows its first view instead.</p>")
    assert session.page.texts["notice"].tags == []
    for row in point(View()).rows:
        assert row.text in session.page.texts["point_table"].text
    change(session, step_size="1/9")
    assert shown(session)[1] == ""
    session._destroyed(None)


def test_a_click_takes_the_nearest_view():
    session = opened(View(over="tau").to_query())
    session._clicked(3.2, 0.0123456)
    session._answer()
    assert session._view() == View(over="tau", local_steps=3, step_size="0.0123")
    session._clicked(float("nan"), 0.1)  # nothing is there
    assert session._fields["step_size"] == "0.0123"
    session._destroyed(None)


def slow_rows(text):
    return (PointRow("certified_rate", "rate", 0.5, text, "CERTIFIED", r"\rho", ""),)


def test_a_stale_result_never_replaces_a_newer_one():
    session = opened()
    layer = session._shown._point_layer
    old = layer.number
    change(session, step_size="1/300")
    session._arrived(Arrival("point", old, slow_rows("0.125125")))
    assert "0.125125" not in session.page.texts["point_table"].text
    assert "busy" in session.page.texts["point_table"].text
    session._arrived(Arrival("point", layer.number, slow_rows("0.375375")))
    assert "0.375375" in session.page.texts["point_table"].text
    assert "busy" not in session.page.texts["point_table"].text
    session._destroyed(None)


def test_what_is_known_is_not_asked_again():
    session = opened()
    layer = session._shown._point_layer
    session._arrived(Arrival("point", layer.number, slow_rows("0.375375")))
    change(session, step_size="1/300")
    assert "0.375375" not in session.page.texts["point_table"].text
    change(session, step_size="1/100")
    assert "0.375375" in session.page.texts["point_table"].text
    session._destroyed(None)


def test_arguments_of_a_request_are_a_query_again():
    query = _query({"step_size": [b"1/9"], "x": [b"a&b=c", b"\xff"]})
    assert query == "step_size=1%2F9&x=a%26b%3Dc&x=%FF"


# ------------------------------------------------------------------- table


def test_the_table_escapes_what_it_shows_and_keeps_verdicts_apart():
    row = PointRow("a", "<i>a</i>", 1.0, "<b>1</b>", "REFUTED", r"\rho<1", "<s>")
    shown = table([row], [], "")
    for tag in ("<i>", "<b>1", "<s>"):
        assert tag not in shown
    assert '<span class="verdict REFUTED">REFUTED</span>' in shown
    assert "<math" in shown


def test_every_formula_of_every_algorithm_is_set():
    for name in ALGORITHMS:
        view = View(name, law="full", local_steps=1)
        assert "<code>" not in table(point(view), [], "")


def test_the_table_has_never_where_the_page_stays_away():
    shown = table(point(View("fedavg", 8, step_size="1/50")), [], "")
    assert shown.count('<td class="value">never</td>') == 1
    assert shown.count('<td class="value">none</td>') == 1  # of the printed rate
    assert "<code>" not in shown


# ------------------------------------------------------------------ server


def test_the_own_names_of_an_address_may_connect_and_no_others():
    assert server._own_origins("127.0.0.1", 5006) == [
        "127.0.0.1:5006",
        "localhost:5006",
    ]
    assert server._own_origins("192.0.2.7", 80) == ["192.0.2.7:80"]


def test_an_ipv6_address_is_served_and_may_be_allowed(monkeypatch):
    monkeypatch.setattr(server.layers, "prepare", lambda *_: None)
    try:
        made = server.make_server("::1", 0, ["[2001:db8::1]:80"])
    except InputError as error:
        pytest.skip(f"there is no such address here: {error}")
    names = ("127.0.0.1", "localhost", "[::1]")
    own = {f"{name}:{made.port}" for name in names}
    assert made._tornado.websocket_origins == {*own, "[2001:db8::1]:80"}
    assert server.url(made) == f"http://[::1]:{made.port}/"
    made.unlisten()


def test_no_address_is_not_every_address():
    with pytest.raises(InputError, match="the address must be one of this machine"):
        server.make_server("", 0)


@pytest.mark.parametrize(
    "origin",
    ["*", "*:80", "example.org", "http://a:1", "a:b", ":1", "::1:80", "a:b:80"],
)
def test_an_origin_must_be_a_host_and_a_port(origin):
    with pytest.raises(InputError, match="HOST:PORT"):
        server.make_server("127.0.0.1", 0, [origin])


def test_an_address_that_is_not_ours_is_a_sentence():
    with pytest.raises(InputError, match="must be free on this machine"):
        server.make_server("192.0.2.7", 0)


@pytest.mark.parametrize(
    ("error", "told"), [(WebSocketClosedError(), False), (ValueError("own"), True)]
)
def test_a_page_closed_while_it_is_answered_is_no_news(caplog, error, told):
    class Loop:
        def start(self):
            logging.getLogger("asyncio").error("a task failed", exc_info=error)

    class Fake:
        io_loop = Loop()
        start = stop = lambda _: None

    server.run(Fake())
    assert ("a task failed" in caplog.text) is told
    caplog.clear()
    logging.getLogger("asyncio").error("afterwards", exc_info=error)
    assert "afterwards" in caplog.text  # others in the process are told as before


@pytest.mark.parametrize("token", ["forged", ""])
def test_a_page_that_is_refused_is_no_news(token):
    """As where a page is open for longer than its token lasts."""
    handler = Mock(_token=token, selected_subprotocol="bokeh" if token else "other")
    handler.application.sign_sessions, handler.application.secret_key = False, None
    with pytest.raises((ProtocolError, ValueError)) as found_out:
        inspect.unwrap(WSHandler.open)(handler)
    told = (found_out.type, found_out.value, found_out.tb)
    record = logging.LogRecord("tornado", 40, "", 1, "uncaught", (), told)
    assert not server._worth_telling(record)


def test_files_hold_what_pages_have_certified(monkeypatch):
    monkeypatch.setattr(found, "_ROWS", {})
    view = View("fedavg", 3, over="n", step_size="1/7")
    before = downloads.made(view, "png")
    assert b"certified" not in downloads.made(view, "csv")
    session = opened(view.to_query())
    shown_now = session._shown
    for layer, piece in (("map", CERTIFIED_ROW), ("point", slow_rows("0.375375"))):
        number = getattr(shown_now, f"_{layer}_layer").number
        session._arrived(Arrival(layer, number, piece))
    session._destroyed(None)
    lines = downloads.made(view, "csv").decode().splitlines()
    assert "point,,certified_rate,0.5,,CERTIFIED" in lines
    assert "map,2,certified,0.9,," in lines
    assert downloads.made(view, "png") != before
    other = replace(view, step_size="1/8")  # the same map, at another point
    lines = downloads.made(other, "csv").decode().splitlines()
    assert "map,2,certified,0.9,," in lines
    assert not any("certified_rate" in line for line in lines)


def test_a_server_forgets_the_oldest_rows(monkeypatch):
    monkeypatch.setattr(found, "_ROWS", {})
    monkeypatch.setattr(found, "_MOST", 2)
    views = [View(step_size=f"1/{k}") for k in (2, 3, 4)]
    for view in views:
        found.remember(found.point_key(view), slow_rows("1"))
    assert [found.found_point(view) is None for view in views] == [True, False, False]


def test_files_of_a_view(tmp_path: Path):
    view = View(n_clients=2)
    assert downloads.made(view, "png").startswith(b"\x89PNG")
    assert downloads.made(view, "csv").startswith(b"table,")
    assert b"View(" in downloads.made(view, "py")
    with pytest.raises(InputError, match="cohort"):
        downloads.made(View(law="uniform", n_clients=2, cohort=3), "csv")


@pytest.mark.parametrize(
    ("host", "answered"),
    [
        ("lab.example.org", True),
        ("[2001:db8::1]:5006", True),
        ("[2001:db8::7]", True),
        ("[::1]:80", True),
        ("lab.example", False),
        ("lab-example.org", False),
        ("127.0.0.1.example.org", False),
    ],
)
def test_a_server_answers_under_the_names_it_was_told(host, answered):
    application = Application([(r"/", downloads.Download)])
    names = server._names("2001:db8::7", ["lab.example.org:80", "[2001:db8::1]:80"])
    answer_only(application, names)
    start = RequestStartLine("GET", "/", "HTTP/1.1")
    headers = HTTPHeaders({"Host": host})
    request = HTTPServerRequest(connection=Mock(), headers=headers, start_line=start)
    handler = application.find_handler(request).handler_class
    assert (handler is not Stranger) == answered
