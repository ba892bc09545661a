"""The HTML report in a real browser: it opens offline, fits, is legible, and can be walked by keyboard."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Mapping
from itertools import pairwise
from pathlib import Path

import pytest
from selenium.webdriver import ActionChains, Chrome, ChromeOptions, ChromeService, Keys

from tests.data_report import report
from verification.report import write
from verification.runner import verify
from verification.verdict import VARIANTS

pytestmark = pytest.mark.browser

PROGRAMS = ("chromium", "chromedriver")
INSTALL = "apt-get install --yes chromium chromium-driver"
ARGUMENTS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
LIGHT_AND_DARK = ("light", "dark")
WIDTHS = (360, 400, 1280)
CLAIMS = 45
REAL = ("prop-4.1-matrix", "lemma-A.1", "conf-replay")
"""Claims whose quick run takes seconds, with figures, infinite values, formulas and long notes."""


def require(programs: tuple[str, ...], environ: Mapping[str, str]) -> None:
    """Fails where tests must run, skips where a browser may be missing."""
    missing = [name for name in programs if shutil.which(name) is None]
    if missing:
        reason = f"{' and '.join(missing)} not found; install with: {INSTALL}"
        pytest.fail(reason) if environ.get("CI") == "true" else pytest.skip(reason)


def test_a_missing_browser_fails_loudly_in_continuous_integration():
    with pytest.raises(pytest.fail.Exception, match=INSTALL):
        require(("no-such-browser",), {"CI": "true"})
    with pytest.raises(pytest.skip.Exception, match=INSTALL):
        require(("no-such-browser",), {})


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("page")
    write(report(CLAIMS), path)
    return path


@pytest.fixture(scope="module", params=["synthetic", "real"])
def either(request: pytest.FixtureRequest, directory: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of made-up rows that show everything, and that of a run of real claims."""
    if request.param == "synthetic":
        return directory
    path = tmp_path_factory.mktemp("real")
    verify(REAL, VARIANTS, "quick", 0, path)
    return path


@pytest.fixture(scope="module")
def browser(directory: Path) -> Iterator[Chrome]:
    require(PROGRAMS, os.environ)
    options = ChromeOptions()
    options.binary_location = str(shutil.which("chromium"))
    for argument in (*ARGUMENTS, f"--user-data-dir={directory / 'profile'}"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = Chrome(options=options, service=ChromeService(shutil.which("chromedriver")))
    try:
        yield driver
    finally:
        driver.quit()


def show(browser: Chrome, directory: Path, width: int = 1280, scheme: str = "light") -> None:
    """The page afresh, in a window of this width, with everything unfolded."""
    size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 500}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    media = {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", media)
    browser.get((directory / "report.html").as_uri())
    browser.execute_script("document.querySelectorAll('details').forEach(d => { d.open = true; })")


def test_it_opens_without_a_message_and_runs_no_script(browser, directory):
    show(browser, directory)
    assert browser.get_log("browser") == []
    assert browser.title.startswith("Claims of")
    assert browser.execute_script("return document.scripts.length") == 0
    assert browser.execute_script("return performance.getEntriesByType('resource').map(e => e.name)") == []


def test_every_claim_is_reached_by_its_link(browser, directory):
    show(browser, directory)
    reached = browser.execute_script("""
        return [...document.querySelectorAll('.glance tbody th a')].map(link => {
            link.click();
            const target = document.querySelector(':target');
            if (target === null) return null;
            const box = target.getBoundingClientRect();
            return [target.tagName, box.top >= 0 && box.bottom <= innerHeight, box.width > 0];
        });
    """)
    assert reached == [["H3", True, True]] * CLAIMS


def test_all_internal_links_resolve(browser, either):
    show(browser, either)
    links = browser.execute_script("""
        return [...document.querySelectorAll('a[href]')].map(
            a => [a.getAttribute('href'), document.getElementById(a.hash.slice(1)) !== null]);
    """)
    assert len(links) > 10
    assert [href for href, found in links if not found] == []


@pytest.mark.parametrize("width", WIDTHS)
def test_formulas_and_figures_can_be_seen(browser, directory, width):
    show(browser, directory, width)
    for kind, least in (("math", 200), ("figure svg", 20), (".badge", 100)):
        boxes = browser.execute_script(
            """return [...document.querySelectorAll(arguments[0])].map(
                e => { const b = e.getBoundingClientRect(); return Math.min(b.width, b.height); })""",
            kind,
        )
        assert len(boxes) >= least
        assert min(boxes) > 3, kind
    spaces = browser.execute_script(
        "return [...new Set([...document.querySelectorAll('math, math *')].map(e => e.namespaceURI))]"
    )
    assert spaces == ["http://www.w3.org/1998/Math/MathML"]


@pytest.mark.parametrize("scheme", LIGHT_AND_DARK)
@pytest.mark.parametrize("width", WIDTHS)
def test_nothing_sticks_out_sideways(browser, either, width, scheme):
    show(browser, either, width, scheme)
    page, window = browser.execute_script("return [document.documentElement.scrollWidth, innerWidth]")
    assert window == width
    assert page <= width
    # What is wider than the window must lie in something that scrolls.
    lost = browser.execute_script("""
        const clips = e => /(auto|scroll|hidden)/.test(getComputedStyle(e).overflowX);
        const scrolls = e => e && (clips(e) || scrolls(e.parentElement));
        return [...document.querySelectorAll('main *')].filter(e => {
            const box = e.getBoundingClientRect();
            return box.right > innerWidth + 1 && !scrolls(e.parentElement);
        }).map(e => e.outerHTML.slice(0, 200));
    """)
    assert lost == []


CONTRAST = """
    const channels = c => c.match(/[\\d.]+/g).map(Number);
    const linear = v => v / 255 <= 0.04045 ? v / 255 / 12.92 : ((v / 255 + 0.055) / 1.055) ** 2.4;
    const luminance = c => 0.2126 * linear(c[0]) + 0.7152 * linear(c[1]) + 0.0722 * linear(c[2]);
    const paper = e => {
        for (; e; e = e.parentElement) {
            const c = channels(getComputedStyle(e).backgroundColor);
            if (c.length < 4 || c[3] === 1) return c;
            if (c[3] > 0) throw new Error('half transparent background');
        }
        throw new Error('no background');
    };
    const words = e => [...e.childNodes].some(n => n.nodeType === 3 && n.textContent.trim());
    const worst = {};
    for (const e of document.querySelectorAll('body *')) {
        if (!words(e) || e.closest('.hidden, title, desc') || !e.getClientRects().length) continue;
        const style = getComputedStyle(e);
        const ink = channels(e.closest('svg') ? style.fill : style.color);
        const [a, b] = [luminance(ink), luminance(paper(e))].sort((x, y) => y - x);
        const ratio = (a + 0.05) / (b + 0.05);
        const name = e.tagName + '.' + (e.getAttribute('class') || '');
        worst[name] = Math.min(worst[name] ?? 99, ratio);
    }
    return worst;
"""


@pytest.mark.parametrize("scheme", LIGHT_AND_DARK)
def test_all_text_contrasts_with_what_is_behind_it(browser, either, scheme):
    show(browser, either, scheme=scheme)
    background = browser.execute_script("return getComputedStyle(document.body).backgroundColor")
    assert background == {"light": "rgb(253, 252, 250)", "dark": "rgb(21, 23, 27)"}[scheme]
    worst = browser.execute_script(CONTRAST)
    assert len(worst) > 15
    assert {name: ratio for name, ratio in worst.items() if ratio < 4.5} == {}


def test_the_keyboard_finds_the_way(browser, directory):
    show(browser, directory)
    ActionChains(browser).send_keys(Keys.TAB).perform()
    name, left, width, outline = browser.execute_script("""
        const e = document.activeElement, box = e.getBoundingClientRect();
        return [e.className, box.left, box.width, getComputedStyle(e).outlineStyle];
    """)
    assert (name, outline) == ("skip", "solid")
    assert left >= 0
    assert width > 50
    ActionChains(browser).send_keys(Keys.ENTER).perform()
    assert browser.execute_script("return location.hash") == "#main"


def test_print_shows_what_is_folded_and_no_navigation(browser, directory):
    show(browser, directory, scheme="dark")
    browser.execute_script("document.querySelectorAll('details').forEach(d => { d.open = false; })")
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    try:
        shown = browser.execute_script("""
            const visible = s => [...document.querySelectorAll(s)].map(e => e.checkVisibility());
            return [visible('details.evidence table'), visible('nav'),
                    getComputedStyle(document.body).backgroundColor];
        """)
    finally:
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})
    assert len(shown[0]) > CLAIMS
    assert all(shown[0])
    assert shown[1] == [False]
    assert shown[2] == "rgb(253, 252, 250)"


def test_headings_form_an_outline(browser, either):
    show(browser, either)
    levels = browser.execute_script(
        "return [...document.querySelectorAll('h1, h2, h3, h4, h5, h6')].map(h => Number(h.tagName[1]))"
    )
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert [b for a, b in pairwise(levels) if b > a + 1] == []
    empty = (
        "return [...document.querySelectorAll('h1, h2, h3, h4')].filter(h => !h.textContent.trim()).length"
    )
    assert browser.execute_script(empty) == 0


def test_the_page_says_its_language_and_has_one_main_part(browser, either):
    show(browser, either)
    assert browser.execute_script("return document.documentElement.lang") == "en"
    assert browser.execute_script("return document.querySelectorAll('main').length") == 1
    nameless = "return [...document.querySelectorAll('nav, [role=region]')].filter(e => !e.ariaLabel).length"
    assert browser.execute_script(nameless) == 0


def test_figures_have_a_name_and_a_description(browser, either):
    show(browser, either)
    found = browser.execute_script("""
        const words = id => document.getElementById(id)?.textContent.trim().length || 0;
        return [...document.querySelectorAll('svg')].map(svg => [
            svg.getAttribute('role'), (svg.getAttribute('aria-labelledby') || '').split(' ').map(words),
            svg.closest('figure')?.querySelector('figcaption')?.textContent.trim().length || 0]);
    """)
    assert len(found) >= 4
    assert {role for role, *_ in found} == {"img"}
    assert all(len(names) == 2 and min(names) > 3 for _, names, _ in found), "a title and a description"
    assert min(caption for *_, caption in found) > 10
    assert browser.execute_script("return [...document.images].filter(i => !i.alt).length") == 0


def test_table_headers_say_what_they_head(browser, either):
    show(browser, either)
    scopes = browser.execute_script(
        "return [...document.querySelectorAll('th')].map(t => t.getAttribute('scope'))"
    )
    assert set(scopes) == {"col", "row"}
    bare = "return [...document.querySelectorAll('table')].filter(t => !t.caption || !t.tHead).length"
    assert browser.execute_script(bare) == 0


def test_whatever_scrolls_can_be_reached_by_keyboard(browser, either):
    """Wide formulas are left to the browser: the keyboard scrolls what has no stops."""
    show(browser, either, 400)
    lost = browser.execute_script("""
        return [...document.querySelectorAll('body *')].filter(e =>
            /(auto|scroll)/.test(getComputedStyle(e).overflowX) && e.scrollWidth > e.clientWidth + 1
            && e.tabIndex < 0 && !e.matches('.long')).map(e => e.outerHTML.slice(0, 120));
    """)
    assert lost == []


def test_ids_are_unique(browser, either):
    show(browser, either)
    ids = browser.execute_script("return [...document.querySelectorAll('[id]')].map(e => e.id)")
    assert len(ids) == len(set(ids))
