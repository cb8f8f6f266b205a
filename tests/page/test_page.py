"""The page in a real browser, against the real service: figures, charts, reasons, overrides, mode, phone, keyboard.

With PREWARM_SCREENSHOTS=docs the pictures of the documentation are taken anew.
"""

from __future__ import annotations

import os
import shutil
import socket
from base64 import b64decode
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from selenium import webdriver
from selenium.webdriver.chrome.options import Options
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import Select, WebDriverWait

from tests.cli.running import Process, serving
from tests.cli.scorers import environment

pytestmark = [pytest.mark.page, pytest.mark.timeout(240)]

FLAGS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
SHOWN = "shop/checkout"
DARK_MEMBERS = """\
apiVersion: v1
kind: Config
current-context: dark-1
contexts:
- {{name: dark-1, context: {{cluster: dark-1, user: nobody}}}}
- {{name: dark-2, context: {{cluster: dark-2, user: nobody}}}}
clusters:
- {{name: dark-1, cluster: {{server: "http://127.0.0.1:{ports[0]}"}}}}
- {{name: dark-2, cluster: {{server: "http://127.0.0.1:{ports[1]}"}}}}
users: [{{name: nobody, user: {{}}}}]
"""


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Process]:
    """A world that has lived through its first hours."""
    with serving(tmp_path_factory.mktemp("world")) as process:
        start = process.until("/readyz")["now"]
        while process.until("/readyz")["now"] < start + 2 * 3600:
            pass
        yield process


@pytest.fixture
def browser(tmp_path: Path) -> Iterator[webdriver.Chrome]:
    """A headless Chromium with a profile of its own."""
    program, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if program is None or driver is None:
        pytest.skip("needs Debian's packages chromium and chromium-driver")
    options = Options()
    options.binary_location = program
    for flag in (*FLAGS, f"--user-data-dir={tmp_path / 'profile'}", "--window-size=1400,1000"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    made = webdriver.Chrome(options=options, service=Service(driver))
    yield made
    made.quit()


class Page:
    """The page, once it has shown its first answer."""

    def __init__(self, browser: webdriver.Chrome, url: str, *, phone: bool = False) -> None:
        self.browser = browser
        if phone:
            self.resize(390, 844, mobile=True)
        browser.get(url)
        self.until("return document.documentElement.dataset.ready === 'yes'")

    def until(self, script: str, limit_s: float = 20.0) -> Any:
        return WebDriverWait(self.browser, limit_s).until(lambda driver: driver.execute_script(script))

    def text(self, name: str) -> str:
        return str(self.browser.find_element(By.ID, name).text)

    def resize(self, width: int, height: int, *, mobile: bool = False) -> None:
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": mobile}
        self.browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)

    def choose(self, key: str) -> None:
        search = self.browser.find_element(By.ID, "search")
        search.clear()
        search.send_keys(key)
        self.until(f"return document.querySelectorAll('#functions [data-open=\"{key}\"]').length === 1")
        # The table is drawn anew every two seconds; a click by script cannot fall between two drawings.
        self.browser.execute_script(f"document.querySelector('#functions [data-open=\"{key}\"]').click()")
        self.until("return document.getElementById('why').children.length > 0")

    def complaints(self) -> list[str]:
        return [entry["message"] for entry in self.browser.get_log("browser") if entry["level"] == "SEVERE"]


def keep(page: Page, name: str, *, width: int, mobile: bool = False) -> None:
    """The whole page as a picture, where pictures are asked for."""
    folder = os.environ.get("PREWARM_SCREENSHOTS")
    if folder is None:
        return
    height = page.browser.execute_script("return document.documentElement.scrollHeight")
    page.resize(width, min(int(height), 3_200), mobile=mobile)
    page.browser.execute_script("document.activeElement.blur(); window.scrollTo(0, 0)")
    page.until("return new Promise(done => setTimeout(() => done(true), 2600))")
    page.browser.save_screenshot(str(Path(folder) / name))


def keep_part(page: Page, name: str, file: str) -> None:
    """One panel of the page as a picture, where pictures are asked for."""
    folder = os.environ.get("PREWARM_SCREENSHOTS")
    if folder is None:
        return
    box = page.until(
        f"const box = document.getElementById('{name}').getBoundingClientRect();"
        "return {x: box.x + scrollX, y: box.y + scrollY, width: box.width, height: box.height, scale: 1}"
    )
    shot = page.browser.execute_cdp_cmd("Page.captureScreenshot", {"clip": box, "captureBeyondViewport": True})
    Path(folder, file).write_bytes(b64decode(shot["data"]))


def test_the_first_screen_shows_the_figures_and_says_that_they_are_simulated(
    service: Process, browser: webdriver.Chrome
) -> None:
    page = Page(browser, service.url)
    assert page.text("simulated") == "simulated world"
    assert "(simulated)" in browser.title
    assert "of KA-10" in page.text("note-cold")
    assert "200 functions" in page.text("note-warm")
    for chart in ("chart-demand", "chart-warm", "chart-cold", "chart-waste"):
        lines = page.until(f"return document.querySelectorAll('#{chart} path.stroke').length")
        assert lines >= 2
        assert page.until(f"return document.querySelector('#{chart} path.stroke').getAttribute('d').length > 500")
    assert page.complaints() == []


def test_a_function_shows_its_minutes_its_forecast_and_why(service: Process, browser: webdriver.Chrome) -> None:
    page = Page(browser, service.url)
    page.choose(SHOWN)
    assert page.text("detail-title") == SHOWN
    page.until("return document.querySelectorAll('#chart-function path.area.forecast').length === 1")
    assert "instance" in page.text("why") or "chance" in page.text("why")
    assert "cold start costs" in page.text("why-inputs")
    keep(page, "page-desktop.png", width=1400)
    assert page.complaints() == []


def test_an_override_is_set_obeyed_shown_and_ended(service: Process, browser: webdriver.Chrome) -> None:
    page = Page(browser, service.url)
    page.choose("mail/legacy")
    value = browser.find_element(By.NAME, "value")
    value.clear()
    value.send_keys("3")
    browser.find_element(By.NAME, "owner").send_keys("team-mail")
    browser.find_element(By.NAME, "reason").send_keys("launch")
    browser.find_element(By.CSS_SELECTOR, "#override button").click()
    page.until("return document.getElementById('overrides').textContent.includes('team-mail: launch')")
    page.until("return document.getElementById('why').textContent.includes('pin by team-mail: launch')")
    assert service.call("GET", "/v1/overrides/mail%2Flegacy")[1]["value"] == 3
    browser.execute_script("document.querySelector('[data-end=\"mail/legacy\"]').click()")
    page.until("return !document.getElementById('overrides').textContent.includes('team-mail')")
    assert service.call("GET", "/v1/overrides/mail%2Flegacy")[0] == 404


def test_the_mode_is_switched_on_the_page(service: Process, browser: webdriver.Chrome) -> None:
    Page(browser, service.url)
    Select(browser.find_element(By.ID, "mode")).select_by_value("shadow")
    WebDriverWait(browser, 10).until(lambda _: service.call("GET", "/v1/mode")[1]["default"] == "shadow")
    assert service.call("PUT", "/v1/mode", {"default": "active"})[0] == 200


def test_it_fits_a_phone(service: Process, browser: webdriver.Chrome) -> None:
    page = Page(browser, service.url, phone=True)
    page.choose(SHOWN)
    assert browser.execute_script("return document.documentElement.scrollWidth") <= 390
    small = browser.execute_script(
        "return [...document.querySelectorAll('main button, header button, select, input')]"
        ".filter(one => one.offsetParent && one.getBoundingClientRect().height < 26).length"
    )
    assert small == 0
    keep(page, "page-phone.png", width=390, mobile=True)


def test_a_chart_is_read_by_the_arrow_keys(service: Process, browser: webdriver.Chrome) -> None:
    page = Page(browser, service.url)
    chart = browser.find_element(By.CSS_SELECTOR, "#chart-demand svg")
    assert str(chart.get_attribute("aria-label")).startswith("Demand against forecast. Latest:")
    browser.execute_script("document.querySelector('#chart-demand svg').focus()")
    browser.switch_to.active_element.send_keys(Keys.ARROW_LEFT, Keys.ARROW_LEFT)
    assert "needed:" in page.until("return document.querySelector('#chart-demand .tip')?.textContent")


def test_every_control_has_a_name(service: Process, browser: webdriver.Chrome) -> None:
    Page(browser, service.url)
    nameless = browser.execute_script(
        "return [...document.querySelectorAll('button, input, select')].filter(one => !one.textContent.trim()"
        " && !one.getAttribute('aria-label') && !one.closest('label')).map(one => one.outerHTML)"
    )
    assert nameless == []


def test_dark_is_kept(service: Process, browser: webdriver.Chrome) -> None:
    page = Page(browser, service.url)
    browser.execute_script("localStorage.setItem('prewarm-theme', 'light'); location.reload()")
    page.until("return document.documentElement.dataset.theme === 'light'")
    browser.find_element(By.ID, "theme").click()
    browser.refresh()
    assert page.until("return document.documentElement.dataset.theme") == "dark"


def open_cluster(page: Page, name: str) -> None:
    """Choose a cluster in the table, as a click does."""
    page.until(f"return document.querySelector('#clusters [data-cluster=\"{name}\"]') !== null")
    page.browser.execute_script(f"document.querySelector('#clusters [data-cluster=\"{name}\"]').click()")
    page.until(f"return document.getElementById('cluster-title').textContent === '{name}'")
    page.until("return document.querySelectorAll('#running [data-workload]').length > 0")


def busiest(service: Process) -> str:
    """The cluster that runs the most."""
    clusters = service.call("GET", "/v1/clusters")[1]["clusters"]
    return str(max(clusters, key=lambda one: one["instances"])["name"])


def asked_to_place(service: Process, key: str) -> dict[str, Any]:
    """A decision of placement about `key`, as anybody may ask for it."""
    form = {"key": key, "replicas": 2, "requests": {"cpu": "100m", "memory": "128Mi"}}
    status, answer = service.call("POST", "/v1/placements", {"workload": form})
    assert (status, answer["unplaced"]) == (200, 0), answer
    return dict(service.call("GET", f"/v1/decisions/{answer['decision']}")[1])


def test_three_clusters_are_on_the_map_and_in_the_table(service: Process, browser: webdriver.Chrome) -> None:
    page = Page(browser, service.url)
    clusters = service.call("GET", "/v1/clusters")[1]["clusters"]
    assert len(clusters) == 3
    page.until("return !document.getElementById('fleet').hidden")
    names = "return [...document.querySelectorAll('{}')].map(one => one.dataset.cluster).sort()"
    assert page.until(names.format("#map .site")) == [one["name"] for one in clusters]
    assert page.until(names.format("#clusters tbody button")) == [one["name"] for one in clusters]
    delays = page.until("return [...document.querySelectorAll('#map .link-delay')].map(one => one.textContent)")
    assert len(delays) == 3
    assert all(text.endswith(" ms") for text in delays)
    inside = browser.execute_script(
        "return [...document.querySelectorAll('#map .site-body')].every(one => +one.getAttribute('cx') > 0"
        " && +one.getAttribute('cx') < 640 && +one.getAttribute('cy') > 0 && +one.getAttribute('cy') < 300)"
    )
    assert inside
    row = page.until(
        f"return document.querySelector('#clusters [data-cluster=\"{clusters[0]['name']}\"]').closest('tr').textContent"
    )
    assert clusters[0]["region"] in row
    lines = browser.execute_script(
        "return [...document.querySelectorAll('#clusters th, #clusters td')]"
        ".filter(one => one.getBoundingClientRect().height > 48).length"
    )
    assert lines == 0
    assert page.complaints() == []


def test_a_cluster_shows_what_runs_there_and_a_workload_why(service: Process, browser: webdriver.Chrome) -> None:
    page, name = Page(browser, service.url), busiest(service)
    open_cluster(page, name)
    key = page.until("return document.querySelector('#running [data-workload]').dataset.workload")
    assert key in [one["key"] for one in service.call("GET", f"/v1/clusters/{name}")[1]["running"]]
    made = asked_to_place(service, key)
    browser.execute_script("document.querySelector('#running [data-workload]').click()")
    page.until("return !document.getElementById('placement').hidden")
    page.until(f"return document.querySelectorAll('#placement-scores li').length === {len(made['scores'])}")
    assert page.text("placement-title") == f"Why {key} is here"
    assert page.text("placement-why")
    parts = browser.execute_script(
        "return [...document.querySelector('#placement-scores svg').querySelectorAll('rect')]"
        ".reduce((sum, one) => sum + +one.getAttribute('width'), 0)"
    )
    shown = sum(factor["contribution"] for factor in made["scores"][0]["factors"] if factor["contribution"] > 0)
    assert parts == pytest.approx(shown * 100, abs=0.01)
    keep_part(page, "fleet", "fleet.png")
    assert page.complaints() == []


def test_the_keyboard_stays_on_a_cluster_while_the_table_is_drawn_anew(
    service: Process, browser: webdriver.Chrome
) -> None:
    page, name = Page(browser, service.url), busiest(service)
    open_cluster(page, name)
    browser.execute_script(
        f"window.was = document.querySelector('#clusters [data-cluster=\"{name}\"]'); window.was.focus()"
    )
    page.until("return !window.was.isConnected")
    assert browser.switch_to.active_element.get_attribute("data-cluster") == name
    browser.switch_to.active_element.send_keys(Keys.ENTER)
    page.until("return document.getElementById('cluster').hidden")


def test_clusters_fit_a_phone(service: Process, browser: webdriver.Chrome) -> None:
    page = Page(browser, service.url, phone=True)
    open_cluster(page, busiest(service))
    assert browser.execute_script("return document.documentElement.scrollWidth") <= 390
    small = browser.execute_script(
        "return [...document.querySelectorAll('#fleet button')]"
        ".filter(one => one.offsetParent && one.getBoundingClientRect().height < 26).length"
    )
    assert small == 0


def test_what_was_never_seen_is_unknown_and_not_nothing(tmp_path: Path, browser: webdriver.Chrome) -> None:
    """Members that never answered: nothing of them reads 0, and they are on the map with a question mark."""
    config = tmp_path / "dark.yaml"
    nothing = ("127.0.0.1", 0)
    with closing(socket.create_server(nothing)) as one, closing(socket.create_server(nothing)) as other:
        ports = [taken.getsockname()[1] for taken in (one, other)]
    config.write_text(DARK_MEMBERS.format(ports=ports))
    with serving(tmp_path, "--kubeconfig", str(config)) as service:
        service.until("/readyz")
        page = Page(browser, service.url)
        page.until("return document.querySelectorAll('#clusters tbody tr').length === 2")
        cells = browser.execute_script(
            "return [...document.querySelectorAll('#clusters tbody td')].map(one => one.textContent)"
        )
        assert cells[0] == "dark-1"
        assert cells[3:7] == ["unknown", "unknown / unknown", "unknown / unknown", "unknown / unknown"]
        assert cells[8] == "never"
        page.until("return document.querySelector('#map .site-count')?.textContent === '?'")
        assert "never seen" in browser.execute_script("return document.querySelector('#map .site title').textContent")
        assert page.complaints() == []


def test_without_a_fleet_there_is_no_panel_and_one_question(tmp_path: Path, browser: webdriver.Chrome) -> None:
    with serving(tmp_path, "--no-world") as service:
        service.until("/readyz")
        page = Page(browser, service.url)
        assert browser.execute_script("return document.getElementById('fleet').hidden")
        asked = "performance.getEntriesByType('resource').filter(one => one.name.includes('{}')).length"
        page.until(f"return {asked.format('v1/overview')} >= 3")
        assert browser.execute_script(f"return {asked.format('v1/clusters')}") == 1


def test_the_learned_scorer_shows_what_it_may_do_and_why_it_does_not(tmp_path: Path, browser: webdriver.Chrome) -> None:
    with serving(tmp_path, environ=environment(tmp_path)) as watched:
        watched.until("/readyz")
        asked_to_place(watched, "shop/checkout")
        page = Page(browser, watched.url)
        page.until("return !document.getElementById('scorer').hidden")
        told = watched.call("GET", "/v1/scorer")[1]
        assert page.text("scorer-sub").startswith(
            f"learned {told['version']}, weights · may at most: shadow · as trained"
        )
        browser.execute_script("document.querySelector('#scorer details').open = true")
        page.until("return document.querySelectorAll('#scorer-counts li').length > 0")
        assert page.text("scorer-counts").startswith("0 decided by it, ")
        keep_part(page, "fleet", "scorer.png")
        assert page.complaints() == []


def test_without_a_scorer_there_is_no_panel_of_it(service: Process, browser: webdriver.Chrome) -> None:
    page = Page(browser, service.url)
    page.until("return document.querySelectorAll('#clusters tbody tr').length === 3")
    assert browser.execute_script("return document.getElementById('scorer').hidden")


def test_a_service_that_went_away_is_told(tmp_path: Path, browser: webdriver.Chrome) -> None:
    with serving(tmp_path) as gone:
        gone.until("/readyz")
        page = Page(browser, gone.url)
        gone.stop()
    page.until("return !document.getElementById('problem').hidden")
    assert "does not answer" in page.text("problem")


def test_a_refused_token_is_asked_for(tmp_path: Path, browser: webdriver.Chrome) -> None:
    with serving(tmp_path, environ={"PREWARM_WRITE_TOKEN": "s3cret"}) as guarded:
        browser.get(guarded.url)
        wait = WebDriverWait(browser, 20)
        wait.until(lambda driver: driver.execute_script("return document.getElementById('ask').open"))
        browser.find_element(By.ID, "ask-token").send_keys("s3cret", Keys.ENTER)
        wait.until(lambda driver: driver.execute_script("return document.documentElement.dataset.ready === 'yes'"))
        assert not browser.execute_script("return document.getElementById('ask').open")
