"""The page around the widgets: headings, regions, links, and one short script.

The script never sees more than the address and the names of the controls. It writes the
address that the server says into the address bar and into the links, at most some times
a second (browsers refuse more), gives sliders and plots their names for screen readers,
marks the number that is refused, and says when the server is gone.
"""

TEMPLATE = """
{% extends base %}
{% block inner_head %}
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>flverify explorer</title>
<link rel="icon" href="data:,">
{% for script in scripts %}<script src="{{ script }}"></script>
{% endfor %}<style>{{ page_css }}</style>
{% endblock %}
{% block contents %}
<a class="skip" href="#results">Skip to the results</a>
<header>
  <h1>flverify explorer</h1>
  <span class="about">Rate = factor per round of the squared distance.
    <noscript><b>This page needs JavaScript, so it is empty. The commands
      <code>flverify rate</code>, <code>bias</code> and <code>certify</code> tell the
      same numbers.</b></noscript></span>
  <nav class="export" aria-label="Export this view">
    Export:
    <a data-export="view.png" href="view.png" download>PNG</a>
    <a data-export="view.csv" href="view.csv" download>CSV</a>
    <a data-export="view.py" href="view.py" download>Python</a>
  </nav>
</header>
<main id="results" tabindex="-1">
  <section id="notice" role="alert">{{ embed(roots.notice) }}
    <div id="lost" hidden>The page has lost its server, so it shows nothing any more;
      start <code>flverify explore</code> again if it was ended, and load this page
      anew.</div>
  </section>
  <section id="controls" aria-label="Setting">
    {% for name, word in control_words.items() %}
    <div class="control" data-name="{{ name }}" data-word="{{ word }}"
      data-texts="{{ control_texts.get(name, [])|tojson|forceescape }}">
      {{ embed(roots[name]) }}
    </div>
    {% endfor %}
    <div class="help">
      <p>Numbers are read exactly: 1/3, 0.2, 2e-4. A click on the map moves the
      point; its dots are searched over all curvatures from μ to L.</p>
      <p><b>supported</b>: computed for the listed instances; <b>certified</b>: an exact
      certificate passed the independent checker; <b>refuted</b>: the printed statement
      has a counterexample; <b>proved</b>: exact, for the whole scope;
      <b>inconclusive</b>: none of these.</p>
    </div>
  </section>
  {% for name, title in results %}
  <section id="{{ name }}" class="result" aria-label="{{ title }}">
    <h2>{{ title }}</h2>
    {% for root in parts[name] %}
    {% if root.startswith("plot_") %}
    <div class="plot" data-word="{{ plot_words[root] }}">
      <div class="fill">{{ embed(roots[root]) }}</div>
    </div>
    {% else %}
    <div class="text">{{ embed(roots[root]) }}</div>
    {% endif %}
    {% endfor %}
  </section>
  {% endfor %}
</main>
{{ embed(roots.address) }}
<script>{{ page_js }}</script>
{% endblock %}
"""

SCRIPT = """
(() => {
  "use strict";
  const wait = (ready, then) => {
    const found = ready();
    if (found) then(found); else setTimeout(() => wait(ready, then), 30);
  };
  const model = (name) => {
    const all = window.Bokeh && Bokeh.documents ? Bokeh.documents : [];
    return all.length ? all[0].get_model_by_name(name) : null;
  };
  const inside = (root, selector) => {
    const found = [...root.querySelectorAll(selector)];
    for (const element of root.querySelectorAll("*"))
      if (element.shadowRoot) found.push(...inside(element.shadowRoot, selector));
    return found;
  };
  // a slider says its place, such as 121.00, until it is told better
  const translate = (handle, texts) => {
    const place = Number(handle.getAttribute("aria-valuenow"));
    const text = texts[Math.round(place)];
    if (text && handle.getAttribute("aria-valuetext") === place.toFixed(2))
      if (text !== place.toFixed(2)) handle.setAttribute("aria-valuetext", text);
  };
  const watched = new WeakSet();
  const watch = (handle, texts) => {
    if (watched.has(handle)) return;
    watched.add(handle);
    new MutationObserver(() => translate(handle, texts))
      .observe(handle, { attributeFilter: ["aria-valuetext"] });
  };
  const name = () => {
    for (const control of document.querySelectorAll(".control")) {
      const [handle] = inside(control, ".noUi-handle");
      const [input] = inside(control, "input");
      if (handle && input) {
        handle.setAttribute("aria-label", control.dataset.word);
        handle.setAttribute("aria-valuetext", input.value);
        watch(handle, JSON.parse(control.dataset.texts));
      }
    }
    for (const plot of document.querySelectorAll(".plot"))
      for (const layer of inside(plot, ".bk-events")) {
        layer.setAttribute("role", "img");
        layer.setAttribute("aria-label", plot.dataset.word);
        layer.tabIndex = -1; // no key does anything there
      }
  };
  let timer = null;
  const follow = (address) => {
    const query = address.text ? "?" + address.text : "";
    for (const link of document.querySelectorAll("[data-export]"))
      link.href = link.dataset.export + query;
    if (query && query !== window.location.search)
      history.replaceState(null, "", query);
    name();
  };
  const told = (notice) => {
    const refused = notice.tags.includes("refused");
    document.getElementById("notice").classList.toggle("told", notice.text !== "");
    document.getElementById("results").classList.toggle("refused", refused);
    document.querySelector(".export").toggleAttribute("hidden", refused);
    for (const control of document.querySelectorAll(".control"))
      for (const input of inside(control, "input"))
        input.setAttribute("aria-invalid", notice.tags.includes(control.dataset.name));
  };
  const lose = () => {
    document.getElementById("lost").hidden = false;
    document.getElementById("notice").classList.add("told");
    document.getElementById("results").classList.add("refused");
    document.querySelector(".export").hidden = true;
  };
  const ready = () => inside(document, ".noUi-handle").length && model("address");
  wait(ready, (address) => {
    follow(address);
    address.properties.text.change.connect(() => {
      clearTimeout(timer);
      timer = setTimeout(() => follow(address), 200);
    });
    const notice = model("notice");
    told(notice);
    notice.properties.text.change.connect(() => told(notice));
    notice.properties.tags.change.connect(() => told(notice));
    address.document.on_event("connection_lost", lose);
    address.document.on_event("client_reconnected", () => location.reload());
  });
})();
"""
