"""How a report looks, beyond what every page of kdsl has: light and dark, on paper, and on a telephone."""

from __future__ import annotations

REPORT_STYLE = """
:root { --word: #1d4f91; --number: #8a3b00; --string: #1b6b3a; --quiet: #5b5f66; --wash: #f4f3ef;
  --good: #1b6b3a; --fair: #8a5a00; --bad: #a3241d; }
@media (prefers-color-scheme: dark) { :root { --word: #8ab8f0; --number: #e9a56c; --string: #86cf9d;
  --quiet: #a4a8ae; --wash: #202327; --good: #86cf9d; --fair: #e6bf6b; --bad: #f0938c; } }
@media print { :root { --word: #000; --number: #000; --string: #000; --quiet: #444; --wash: #fff;
  --good: #000; --fair: #000; --bad: #000; } }
body { overflow-wrap: break-word; }
h1 { font-size: 1.9em; line-height: 1.2; font-weight: normal; }
h2 { font-size: 1.3em; margin: 2.2em 0 0.7em; }
h3 { font-size: 1.05em; margin: 1.8em 0 0.3em; }
main p, main li { max-width: 42em; }
sup { font-size: 0.75em; line-height: 0; }
main > section > ul > li { margin: 0.35em 0; }
.about { color: var(--quiet); margin: 0 0 1.2em; }
.verdict { padding: 0.7em 1em; border-left: 4px solid var(--rule); background: var(--wash); max-width: 44em; }
.verdict.good { border-color: var(--good); }
.verdict.fair { border-color: var(--fair); }
.verdict.bad { border-color: var(--bad); }
.verdict p { margin: 0; }
nav ul { list-style: none; padding: 0; margin: 1.2em 0; display: flex; flex-wrap: wrap; gap: 0.3em 1.3em; }
nav li { margin: 0; }
a { color: var(--word); text-underline-offset: 0.15em; }
.wide { overflow-x: auto; margin: 0.9em 0; }
.wide table { margin: 0; font-variant-numeric: tabular-nums lining-nums; }
.wide caption { text-align: left; font-style: italic; color: var(--quiet); padding-bottom: 0.3em; }
.wide th, .wide td { padding: 0.25em 1.4em 0.25em 0; vertical-align: baseline; }
@media (min-width: 40em) { .wide caption { white-space: nowrap; } }
.wide thead th { border-bottom: 1px solid var(--rule); }
.wide tbody tr + tr > * { border-top: 1px solid var(--faint); }
.wide tbody th { font-style: normal; border-bottom: 0; }
.wide .number { text-align: right; white-space: nowrap; }
.wide .number + td, .wide .number + th { padding-left: 0.4em; }
.facts { margin: 0.9em 0; }
.facts div { display: flex; gap: 1em; padding: 0.15em 0; }
.facts dt { flex: 0 0 11em; color: var(--quiet); }
.facts dd { margin: 0; min-width: 0; overflow-wrap: anywhere; font-variant-numeric: lining-nums; }
pre.spec { background: var(--wash); margin: 0.9em 0; white-space: pre-wrap; }
.pictures { display: flex; flex-wrap: wrap; gap: 1.6em 2em; align-items: flex-start; }
figure { margin: 0; flex: 1 1 22em; max-width: 30em; min-width: 0; break-inside: avoid; }
figure svg, figure img { display: block; width: 100%; height: auto; box-sizing: border-box; padding: 0.5em;
  background: #fff; border-radius: 3px; }
figcaption { font-size: 0.88em; line-height: 1.4; color: var(--quiet); margin-top: 0.5em; }
#derivation h3 { border-bottom: 1px solid var(--faint); }
footer { margin-top: 3em; padding-top: 0.6em; border-top: 1px solid var(--rule); color: var(--quiet);
  font-size: 0.88em; }
@media (max-width: 40em) {
  body { font-size: 16px; margin: 1em auto; }
  h1 { font-size: 1.5em; }
  .facts div { display: block; padding: 0.3em 0; }
  .wide th, .wide td { padding-right: 0.9em; }
  figure { flex-basis: 100%; }
}
@media print { nav { display: none; } h2, h3 { break-after: avoid; } tr { break-inside: avoid; }
  .wide, .formulas, pre.spec { overflow: visible; } pre.spec { border: 1px solid #999; }
  body { font-size: 10.5pt; } }
"""
