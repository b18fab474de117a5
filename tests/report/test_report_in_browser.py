"""Reports in headless Chromium: they ask for nothing, complain of nothing, and are fit to be read by anybody."""

from __future__ import annotations

from pathlib import Path

import pytest
from browser import Browser
from command_runs import kdsl
from reported import COMMANDS, HOSTILE, LABELS, TITLE, page

pytestmark = pytest.mark.xdist_group("browser")

# What a reader, or a program that reads aloud, would stumble upon.
FAULTS = """
(() => {
  const faults = [], all = [...document.querySelectorAll('*')];
  const ids = all.map(e => e.id).filter(Boolean);
  ids.filter((id, n) => ids.indexOf(id) !== n).forEach(id => faults.push('id twice: ' + id));
  let level = 0;
  document.querySelectorAll('h1, h2, h3, h4').forEach(h => {
    const now = +h.tagName[1];
    if (now > level + 1) faults.push('heading leaps: ' + h.textContent);
    level = now;
  });
  if (document.querySelectorAll('h1').length !== 1) faults.push('not one h1');
  document.querySelectorAll('th').forEach(e => e.scope || faults.push('th without scope: ' + e.textContent));
  document.querySelectorAll('main section').forEach(e => e.id || faults.push('section without id'));
  document.querySelectorAll('figure > svg').forEach(e =>
    (e.getAttribute('role') === 'img' && e.getAttribute('aria-label')) || faults.push('svg without words'));
  document.querySelectorAll('img').forEach(e => e.alt || faults.push('img without alt'));
  document.querySelectorAll('nav a').forEach(e =>
    document.querySelector(e.getAttribute('href')) || faults.push('leads nowhere: ' + e.textContent));
  document.querySelectorAll('svg use').forEach(e =>
    document.querySelector(e.getAttribute('href')) || faults.push('nothing to use: ' + e.getAttribute('href')));
  document.querySelectorAll('script, iframe, object, embed, form, base').forEach(e => faults.push(e.tagName));
  document.querySelectorAll('svg [id^=figure], svg style, svg metadata').forEach(e => faults.push('svg: ' + e.id));
  if (!document.documentElement.lang) faults.push('no language');
  const wide = document.documentElement.scrollWidth - document.documentElement.clientWidth;
  if (wide > 0) faults.push('wider than the window by ' + wide);
  return faults;
})()
"""
# The least contrast between letters and what lies behind them, as WCAG defines it, with the letters.
CONTRAST = """
(() => {
  const light = c => {
    const [r, g, b] = c.match(/[\\d.]+/g).map(Number).map(v => v / 255)
      .map(v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const behind = e => {
    for (; e; e = e.parentElement) {
      const c = getComputedStyle(e).backgroundColor;
      if (!c.startsWith('rgba') || !c.endsWith(', 0)')) return c;
    }
    return 'rgb(255, 255, 255)';
  };
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  let worst = [21, ''];
  while (walker.nextNode()) {
    const e = walker.currentNode.parentElement;
    if (!walker.currentNode.textContent.trim() || e.closest('svg')) continue;
    const [a, b] = [light(getComputedStyle(e).color), light(behind(e))];
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (ratio < worst[0]) worst = [ratio, e.outerHTML.slice(0, 200)];
  }
  return worst;
})()
"""


def test_a_page_that_asks_and_complains_is_found_out(browser: Browser, tmp_path: Path) -> None:
    bad = tmp_path / "bad.html"
    bad.write_text(
        "<html><body><h1>a</h1><h3 id=x>b</h3><table><tr><th>c</th></tr></table><p id=x style='width:2000px'>d</p>"
        "<p style='color: #999'>e</p>"
        "<img src='http://127.0.0.1:1/pixel.png'><script>console.error('oh'); nothing();</script></body></html>"
    )
    visit = browser.visit(bad)
    assert visit.requests == ["http://127.0.0.1:1/pixel.png"]
    assert len(visit.complaints) >= 2
    found = "; ".join(browser.evaluate(FAULTS))
    for fault in (
        "id twice",
        "heading leaps",
        "th without scope",
        "img without alt",
        "SCRIPT",
        "wider than the window",
    ):
        assert fault in found
    assert browser.evaluate(CONTRAST)[0] < 3


@pytest.mark.parametrize("name", COMMANDS)
def test_a_report_asks_for_nothing_and_can_be_read(browser: Browser, name: str) -> None:
    for width, scheme in ((1200, "light"), (390, "dark")):
        assert browser.visit(page(name), width, scheme) == ([], [])
        assert browser.evaluate(FAULTS) == []
        ratio, letters = browser.evaluate(CONTRAST)
        assert ratio >= 4.5, letters
        background = browser.evaluate("getComputedStyle(document.body).backgroundColor")
        assert (background == "rgb(255, 255, 255)") == (scheme == "light")


@pytest.mark.parametrize("name", ["svm_1norm", "svr_nu"])
def test_a_derivation_by_itself_asks_for_nothing_and_can_be_read(browser: Browser, name: str, tmp_path: Path) -> None:
    assert kdsl("derive", name, "--format", "html", "-o", tmp_path / "derivation.html").code == 0
    for width, scheme in ((1200, "light"), (390, "dark")):
        assert browser.visit(tmp_path / "derivation.html", width, scheme) == ([], [])
        assert browser.evaluate(FAULTS) == []
        assert browser.evaluate(CONTRAST)[0] >= 4.5


def test_paper_is_white_whatever_the_screen_is(browser: Browser) -> None:
    browser.visit(page("hard"), scheme="dark")
    browser.call("Emulation.setEmulatedMedia", media="print")
    assert browser.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert browser.evaluate("getComputedStyle(document.querySelector('nav')).display") == "none"
    browser.call("Emulation.setEmulatedMedia", media="")
    assert browser.printed().startswith(b"%PDF")


def test_hostile_names_stay_text(browser: Browser) -> None:
    assert browser.visit(page("hostile")) == ([], [])
    assert browser.evaluate("document.querySelectorAll('script, img, b, body > svg, td svg, th svg').length") == 0
    assert browser.evaluate("document.querySelector('h1').textContent") == TITLE
    assert browser.evaluate("document.title") == f"{TITLE} (svm_1norm)"
    seen = browser.evaluate("document.querySelector('#data').textContent")
    for name in (*HOSTILE[:2], *LABELS, "`&lt;\ufffdb\ufffd'$x^2$"):
        assert name in seen
