"""Look of the pages: one column, colours of Okabe and Ito beside word and symbol."""

CSS = """
:root { --ink: #1b1f24; --soft: #57606a; --line: #d0d7de; --wash: #f6f8fa; }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 60rem; padding: 1rem 1.2rem 4rem; color: var(--ink);
  background: #fff; font: 16px/1.5 system-ui, "Segoe UI", Roboto, "DejaVu Sans",
  sans-serif; overflow-wrap: anywhere; }
h1 { font-size: 1.6rem; line-height: 1.25; margin: .6rem 0 .3rem; }
h2 { font-size: 1.3rem; margin: 2.6rem 0 .6rem; padding-bottom: .2rem;
  border-bottom: 2px solid var(--ink); }
h3 { font-size: 1.05rem; margin: 2rem 0 .6rem; }
h4 { font-size: 1rem; margin: 0; }
a { color: #0b57a4; }
p { margin: .4rem 0; }
code { font: .86em/1.45 ui-monospace, "SFMono-Regular", Consolas, "DejaVu Sans Mono",
  monospace; }
math { font-family: "STIX Two Math", "Cambria Math", "Latin Modern Math",
  "Noto Sans Math", math; font-size: 1.08em; padding-block: .16em; }
.soft { color: var(--soft); }
nav { font-size: .92rem; margin: .8rem 0; }
nav ul { columns: 20rem; padding-left: 1.1rem; margin: .3rem 0; }
.badge { display: inline-block; white-space: nowrap; font-weight: 650;
  font-size: .78rem; letter-spacing: .02em; line-height: 1.35; padding: .08em .5em;
  border-radius: .3em; border: 1.5px solid; overflow-wrap: normal; }
.PROVED { color: #00593f; border-color: #009e73; background: #e3f5ee; }
.CERTIFIED { color: #004b7c; border-color: #0072b2; background: #e1eef7; }
.SUPPORTED { color: #1b5875; border-color: #56b4e9; background: #eaf5fc; }
.REFUTED { color: #fff; border-color: #b34700; background: #b34700; }
.INCONCLUSIVE { color: #5c4300; border-color: #e69f00; background: #fdf3dc; }
.bar { display: flex; height: .8rem; border-radius: .3rem; overflow: hidden;
  margin: .8rem 0 .6rem; }
.bar i { display: block; border-right: 2px solid #fff; }
.bar .PROVED { background: #009e73; } .bar .CERTIFIED { background: #0072b2; }
.bar .SUPPORTED { background: #56b4e9; } .bar .REFUTED { background: #b34700; }
.bar .INCONCLUSIVE { background: #e69f00; }
table { border-collapse: collapse; width: 100%; font-size: .92rem; }
th, td { text-align: left; vertical-align: top; padding: .28rem .6rem .28rem 0;
  border-bottom: 1px solid var(--line); }
th { font-weight: 600; }
.counts { width: auto; } .counts td:nth-child(2) { text-align: right; }
.claim { border: 1px solid var(--line); border-left: .32rem solid var(--line);
  border-radius: .4rem; padding: .8rem 1rem; margin: .9rem 0; }
.claim.is-PROVED { border-left-color: #009e73; }
.claim.is-CERTIFIED { border-left-color: #0072b2; }
.claim.is-SUPPORTED { border-left-color: #56b4e9; }
.claim.is-REFUTED { border-left-color: #b34700; }
.claim.is-INCONCLUSIVE { border-left-color: #e69f00; }
.claim:target { box-shadow: 0 0 0 3px #ffd33d; }
.head { display: flex; flex-wrap: wrap; gap: .2rem .7rem; align-items: baseline; }
.head .soft { margin-left: auto; font-size: .88rem; text-align: right; }
.head h4 a { color: inherit; text-decoration: none; }
.statement { margin: .7rem 0; padding: .5rem .7rem; background: var(--wash);
  border-radius: .3rem; line-height: 2.1; overflow-x: auto; }
.statement code { white-space: pre-wrap; }
.gap { display: inline-block; width: 1.4em; }
dl { display: grid; grid-template-columns: 6.5rem 1fr; gap: .22rem .8rem;
  margin: .5rem 0; font-size: .94rem; }
dt { color: var(--soft); } dd { margin: 0; min-width: 0; }
.fix { border-left: .2rem solid #009e73; padding-left: .7rem; margin: .7rem 0; }
details { margin: .35rem 0; font-size: .92rem; }
summary { cursor: pointer; }
details > table, details > div { margin: .3rem 0 .6rem; }
.readings > thead > tr > th, .readings > tbody > tr > td:first-child {
  overflow-wrap: break-word; min-width: 7.5rem; }
.rows td { font-size: .88rem; padding-top: .1rem; padding-bottom: .1rem; }
.rows td:first-child { width: 32%; color: var(--soft); }
.rows code { white-space: pre-wrap; }
.parts { list-style: none; padding-left: .2rem; margin: .2rem 0 .5rem; }
.parts .parts { padding-left: 1.1rem; margin-left: .55rem;
  border-left: 2px solid var(--line); }
.parts li { padding: .2rem 0; } .parts .soft { font-size: .94em; }
.argument { font: .86em/1.45 ui-monospace, "SFMono-Regular", Consolas,
  "DejaVu Sans Mono", monospace; background: var(--wash); padding: .5rem .7rem;
  border-radius: .3rem; white-space: pre-wrap; margin: .3rem 0 .6rem; }
.how { font-size: .88rem; color: var(--soft); margin-top: .6rem; }
.how code { background: var(--wash); padding: .1em .35em; border-radius: .2em;
  color: var(--ink); }
.tree, .tree ul { list-style: none; padding-left: 0; margin: .2rem 0; }
.tree ul { padding-left: 1.1rem; margin-left: .55rem;
  border-left: 2px solid var(--line); }
.tree li { padding: .16rem 0; font-size: .94rem; }
.tree > li { border: 1px solid var(--line); border-radius: .4rem; padding: .7rem 1rem;
  margin: .8rem 0; }
.tree .fails { background: #fdece2; border-radius: .3rem; padding: .2rem .45rem; }
.tree .why { display: block; font-size: .86rem; }
@media (max-width: 34rem) {
  body { padding: .6rem .7rem 3rem; font-size: 15px; }
  .claim { padding: .6rem .65rem; } .statement { padding: .4rem .45rem; }
  dl { grid-template-columns: 1fr; gap: 0; }
  dt { margin-top: .35rem; font-size: .85rem; }
  .head .soft { margin-left: 0; text-align: left; width: 100%; }
  .readings > tbody > tr > td { display: block; border: 0; padding: .1rem 0; }
  .readings > tbody > tr { display: block; border-bottom: 1px solid var(--line);
    padding: .3rem 0; }
  .readings thead { display: none; } .tree ul { padding-left: .6rem; }
  .counts td:last-child { display: none; }
}
@media print {
  body { max-width: none; font-size: 10pt; padding: 0; } nav { display: none; }
  .claim, .tree > li { break-inside: auto; } .head, h3, h4 { break-after: avoid; }
  .badge, .bar i, .statement { print-color-adjust: exact; }
  .statement { overflow: visible; } a { color: inherit; text-decoration: none; }
  details::details-content { content-visibility: visible; block-size: auto; }
}
"""
