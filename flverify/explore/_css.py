"""Style sheets of the page: one for the document, one inside every widget."""

_ROOT = """
--ink: #1b1f24; --soft: #57606a; --line: #d0d7de; --wash: #f6f8fa; --go: #0b57a4;
--sans: system-ui, -apple-system, "Segoe UI", "DejaVu Sans", sans-serif;
"""

PAGE = (
    f":root {{ {_ROOT} }}"
    """
* { box-sizing: border-box; }
html, body { display: block; height: auto; margin: 0; background: var(--wash);
  color: var(--ink); font: 14px/1.35 var(--sans); }
body { padding: 0 10px 10px; }
a { color: var(--go); }
header { display: flex; flex-wrap: wrap; align-items: center; gap: 2px 14px;
  padding: 6px 2px; }
h1 { font-size: 17px; margin: 0; font-weight: 650; }
header .about { color: var(--soft); font-size: 13px; flex: 1 1 16rem; }
header .export { display: flex; gap: 6px; }
[hidden] { display: none !important; }
.skip { position: absolute; left: -999px; }
.skip:focus { left: 8px; top: 8px; background: #fff; padding: 4px 8px; z-index: 9; }
main { display: grid; gap: 8px; outline: none;
  grid-template: "notice notice notice" auto
    "controls map point" minmax(330px, 1fr)
    "controls errors law" minmax(330px, 1fr)
    / 232px minmax(0, 1fr) minmax(0, 1.17fr);
  height: max(690px, calc(100vh - 52px)); }
section { background: #fff; border: 1px solid var(--line); border-radius: 6px;
  padding: 8px 10px; min-width: 0; display: flex; flex-direction: column; }
h2 { font-size: 13px; font-weight: 650; margin: 0 0 2px; display: flex;
  flex-wrap: wrap; gap: 2px 10px; align-items: baseline; }
section > .plot { flex: 1 1 auto; min-height: 0; position: relative; }
section > .plot > .fill { position: absolute; inset: 0; }
section > .text { min-height: 0; overflow: auto; }
#controls { grid-area: controls; overflow: auto; }
.help { margin-top: auto; padding-top: 8px; color: var(--soft); font-size: 12px; }
.help p { margin: 0 0 4px; }
#notice { grid-area: notice; }
#map { grid-area: map; } #point { grid-area: point; }
#errors { grid-area: errors; } #law_matrices { grid-area: law; }
#notice:not(.told) { display: none; }
#notice.told { border-color: #b34700; background: #fdece2; }
main.refused > .result { opacity: 1; }
main.refused > .result > * { display: none; }
main.refused > .result::after { content: "Nothing to show: see the message above.";
  color: var(--soft); margin: auto; }
@media (max-width: 1000px) {
  .help { margin-top: 6px; }
  main { height: auto;
    grid-template: "notice notice" auto "controls controls" auto "map point" 350px
    "errors law" 350px / minmax(0, 1fr) minmax(0, 1fr); }
}
@media (max-width: 1000px) and (min-width: 701px) {
  #controls { display: block; columns: 2; column-gap: 28px; }
  .control, .help { break-inside: avoid; }
}
@media (max-width: 700px) {
  main { grid-template: "notice" auto "controls" auto "map" 330px "point" auto
    "errors" 340px "law" 400px / minmax(0, 1fr); }
  header .about { flex-basis: 100%; order: 3; }
}
"""
)

WIDGET = (
    f":host {{ {_ROOT} margin: 0; font: 13px/1.3 var(--sans); color: var(--ink); }}"
    """
.bk-input-group { display: block; width: 100%; }
.bk-input-group:has(> label) { display: grid; align-items: center; gap: 6px;
  grid-template-columns: minmax(0, 1fr) 96px; padding-top: 5px; }
.bk-input-group > label { margin: 0; padding: 0; font: 13px/1.3 var(--sans); }
.bk-input-group > .bk-input-container { grid-column: 2; }
input.bk-input, select.bk-input { height: 24px; min-height: 24px; padding: 1px 6px;
  font: 13px var(--sans); border: 1px solid #8c959f; border-radius: 4px;
  width: 100%; background-color: #fff; color: var(--ink); }
input.bk-input:focus, select.bk-input:focus { outline: 2px solid var(--go);
  outline-offset: 1px; border-color: var(--go); box-shadow: none; }
input.bk-input[aria-invalid="true"] { border: 2px solid #b34700;
  background-color: #fdece2; }
select.bk-input { padding-right: 18px; }
.bk-slider-title { display: none; }
.noUi-target { margin: 7px 8px 8px; border: 0; box-shadow: none; background: none;
  height: 6px; }
.noUi-connects { background: #d0d7de; border-radius: 3px; }
.noUi-connect { background: var(--go) !important; }
.noUi-handle { width: 16px !important; height: 16px !important; right: -8px !important;
  top: -5px !important; border-radius: 50% !important; border: 2px solid var(--go);
  background: #fff; box-shadow: none; cursor: grab; }
.noUi-handle:focus { outline: 3px solid #b34700; outline-offset: 2px; }
@media (forced-colors: active) {
  .noUi-connects, .noUi-connect { forced-color-adjust: none; }
}
"""
)

SELECT = """
.bk-input-group:has(> label) { grid-template-columns: 62px minmax(0, 1fr); }
"""

TEXT = (
    f":host {{ {_ROOT} margin: 0; font: 13px/1.35 var(--sans); color: var(--ink);"
    """ width: 100%; }
.bk-clearfix { width: 100%; }
p { margin: 0 0 3px; }
table { border-collapse: collapse; width: 100%; font-size: 12.5px; }
th, td { text-align: left; padding: 2px 8px 2px 0; vertical-align: baseline; }
tr.first { border-top: 1px solid var(--line); }
th { font-weight: 500; }
thead th { font-weight: 650; }
td.value { font-variant-numeric: tabular-nums; white-space: nowrap; }
td:last-child { padding-right: 0; white-space: nowrap; width: 1%; }
:host { container-type: inline-size; }
@container (max-width: 500px) {
  thead { display: none; }
  tr { display: grid; grid-template-columns: minmax(0, 1fr) auto; padding: 2px 0; }
  th { grid-row: 1 / span 2; padding: 0 6px 0 0; }
  td, td:last-child { padding: 0; text-align: right; width: auto; }
  .formula { display: block; padding: 0; overflow-wrap: anywhere; }
}
.formula { color: var(--soft); padding-left: 6px; display: inline-block; }
math { math-style: compact; font-size: 1.06em; font-family: "STIX Two Math",
  "Cambria Math", "Latin Modern Math", "Noto Sans Math", math; }
.verdict { font-size: 10.5px; font-weight: 650; padding: 0 5px; border-radius: 3px;
  border: 1px solid; letter-spacing: .02em; }
.PROVED { color: #00593f; border-color: #009e73; background: #e3f5ee; }
.CERTIFIED { color: #004b7c; border-color: #0072b2; background: #e1eef7; }
.SUPPORTED { color: #1b5875; border-color: #56b4e9; background: #eaf5fc; }
.REFUTED { color: #fff; border-color: #b34700; background: #b34700; }
.INCONCLUSIVE { color: #5c4300; border-color: #e69f00; background: #fdf3dc; }
.small { color: var(--soft); font-size: 12px; }
span.small { display: inline-block; }
sub { font-size: 75%; line-height: 0; }
.key { white-space: nowrap; margin-right: 12px; }
.key i { display: inline-block; width: 18px; height: 0; vertical-align: middle;
  margin-right: 4px; border-top: 2.5px solid; }
/* plots keep their colours and white ground under forced colours; so do their keys */
@media (forced-colors: active) {
  .key { forced-color-adjust: none; background: #fff; color: var(--ink);
    padding: 0 3px; }
}
.busy::before { content: ""; display: inline-block; width: 10px; height: 10px;
  margin-right: 5px; border: 2px solid var(--line); border-top-color: var(--go);
  border-radius: 50%; animation: turn .8s linear infinite; vertical-align: -1px; }
@keyframes turn { to { transform: rotate(360deg); } }
@media (prefers-reduced-motion: reduce) { .busy::before { animation: none; } }
"""
)
