"""A run's page as the server gives it, in a browser: it works as always, and reads nothing else."""

import csv
import threading
from datetime import UTC, datetime

import pytest
from werkzeug.serving import make_server

from keyheat.addresses import Hosts
from keyheat.pages.run.report import write_report
from keyheat.pages.runs.app import Site, app_of
from keyheat.pages.runs.found import RunSearch
from keyheat.pages.runs.index import Recall
from keyheat.pages.runs.look import Look, Pages
from keyheat.pages.samples.cases import HOT_KEY
from keyheat.pages.samples.make import make_run
from tests.browsing import all_drawn
from tests.made_runs import summary, written
from tests.outside import eventually
from tests.pages.conftest import GENERATED_AT

pytestmark = pytest.mark.browser
THEIRS = """<!doctype html><title>theirs</title><body><script>
const asked = ["/runs.json", "/", "/now.json"].map(async path => {
  try { return (await fetch(path)).status; } catch (error) { return error.name; }
});
const kept = () => { try { return String(localStorage.length) } catch (error) { return error.name; } };
const opened = () => { try { return window.open("/").document.title } catch (error) { return error.name; } };
Promise.all(asked).then(said => { window.said = [...said, kept(), opened(), window.origin]; });
</script></body>"""


@pytest.fixture
def served(tmp_path):
    """The address of a server of two runs: one of ours, and one whose page somebody else wrote."""
    ours = make_run(HOT_KEY, tmp_path / "runs" / "ours", seconds=60)
    write_report(ours, GENERATED_AT)
    theirs = written(tmp_path / "runs" / "theirs", summary("theirs"))
    (theirs / "report.html").write_text(THEIRS)
    recall = Recall(tmp_path / "history.sqlite", lambda: datetime.now(UTC))
    look = Look(folders=(tmp_path / "runs",), search=RunSearch(), recall=recall, clock=lambda: 0.0)
    site = Site(
        look=look, pages=Pages(clock=lambda: 0.0), hosts=Hosts(frozenset()), command="", show_keys=True
    )
    server = make_server("127.0.0.1", 0, app_of(site), threaded=True)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()
    thread.join()
    server.server_close()


def test_a_page_that_somebody_else_wrote_reads_no_other_run(visit, served):
    page = visit(served)
    with page.expect_navigation():
        page.locator("tr", has_text="theirs").get_by_role("link", name="report").first.click()
    said = eventually(lambda: page.evaluate("window.said"))
    assert said == ["TypeError", "TypeError", "TypeError", "SecurityError", "SecurityError", "null"]


def test_our_own_page_draws_zooms_and_saves_as_from_a_file(visit, served):
    page = visit(served)
    with page.expect_navigation():
        page.locator("tr", has_text="hotkey").get_by_role("link", name="report").first.click()
    all_drawn(page)
    with page.expect_download() as download:
        page.locator("button.save[data-chart=chart-seconds-0]").click()
    with open(download.value.path(), newline="", encoding="utf-8") as file:
        assert len(list(csv.reader(file))) == 61
    before = page.inner_text("#range-words")
    page.locator("#range").focus()
    page.keyboard.press("+")
    page.wait_for_function("was => document.getElementById('range-words').textContent !== was", arg=before)
    assert page.wrong == []
    page.go_back()
    assert page.locator("h1").is_visible()
