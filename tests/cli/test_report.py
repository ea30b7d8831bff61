"""`sparkassets report`: a site of a real project, without Spark."""

import json
import re

import pytest

from sparkassets.cli import main
from sparkassets.cli.commands import report as command

pytestmark = pytest.mark.usefixtures("shop")


def documents(folder):
    """The documents that the page of a site loads, by name."""
    data = re.search('data-folder="(.*?)"', (folder / "index.html").read_text())[1]
    found = {}
    for path in (folder / "data" / data).iterdir():
        told = path.read_text().removeprefix("sparkassetsReport(").removesuffix(");\n")
        name, document = json.loads(f"[{told}]")
        found[name] = document
    return found


def test_a_site_of_what_ran(run_cli, run_json, engine, tmp_path):
    assert run_cli("run")[0] == 0
    code, out, err = run_cli("report", "--out", "site")
    assert (code, err) == (0, "")
    assert re.fullmatch(r"site/index\.html: \d+ files, 0\.\d MB\n", out)
    told = documents(tmp_path / "site")
    assert [row["name"] for row in told["index"]["assets"]] == ["orders", "daily_revenue", "best_shops"]
    assert {run["status"] for run in told["runs"]["runs"]} == {"success"}
    pages = {page["name"]: page for page in told["assets-0"]}
    assert "SELECT" in pages["daily_revenue"]["code"]["text"]
    assert run_json("report", "--out", "site").keys() == {"index", "files", "bytes"}


def test_the_page_of_an_asset_has_what_its_next_run_executes(run_cli, engine, tmp_path):
    assert run_cli("report", "--out", "site")[0] == 0
    pages = {page["name"]: page for page in documents(tmp_path / "site")["assets-0"]}
    rendered = pages["daily_revenue"]["rendered"]
    assert rendered["partitions"] == ["2025-01-01..2025-01-02"]
    assert "sum(amount) AS revenue" in rendered["code"][0]["statements"][-1]
    assert "rendered" not in pages["orders"]
    assert run_cli("run")[0] == run_cli("report", "--out", "site")[0] == 0
    assert not [page for page in documents(tmp_path / "site")["assets-0"] if "rendered" in page]


def test_code_that_cannot_be_written_costs_no_report(run_cli, monkeypatch, tmp_path):
    def fail(*_):
        raise OSError("the log is gone")

    monkeypatch.setattr("sparkassets.spark.query_rendering.QueryRenderer.render", fail)
    assert run_cli("report", "--out", "site")[0] == 0
    pages = {page["name"]: page for page in documents(tmp_path / "site")["assets-0"]}
    assert pages["daily_revenue"]["rendered"]["notes"] == ["it cannot be written: OSError: the log is gone"]


def test_tags_and_owners_are_in_the_index(run_cli, shop, tmp_path):
    with (shop / "assets/best_shops.yml").open("a") as file:
        file.write("owner: ann\ntags: [finance, daily]\n")
    assert run_cli("report", "--out", "site")[0] == 0
    rows = {row["name"]: row for row in documents(tmp_path / "site")["index"]["assets"]}
    assert (rows["best_shops"]["owner"], rows["best_shops"]["tags"]) == ("ann", ["finance", "daily"])


def test_before_anything_ran(run_cli, tmp_path):
    assert run_cli("report", "--out", "site")[0] == 0
    told = documents(tmp_path / "site")
    assert told["runs"] == {"runs": [], "events": []}
    assert not (tmp_path / "state").exists()


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ((), "missing option '--out'"),
        (("--out", "conf"), "'conf' contains files that are not a report; nothing was written"),
        (("--out", "ftp://x/y"), "unsupported scheme 'ftp://'"),
        (("--out", "site", "--watch", "0s"), "--watch 0s: expected at least a second"),
    ],
)
def test_what_is_refused(run_cli, args, message):
    code, out, err = run_cli("report", *args)
    assert (code, out) == (2, "")
    assert message in err


def test_it_is_written_anew_when_something_happened(monkeypatch, capsys, tmp_path):
    counts, slept = [], []

    def sleep(seconds):
        slept.append(seconds)
        counts.append(len(documents(tmp_path / "site")["runs"]["events"]))
        if len(slept) == 1:
            assert main(["events", "add", "orders", "--partition", "2025-01-01"]) == 0
        if len(slept) == 3:
            raise KeyboardInterrupt

    monkeypatch.setattr(command.time, "sleep", sleep)
    assert main(["report", "--out", "site", "--watch", "2s"]) == 130
    assert (slept, counts) == ([2.0] * 3, [0, 1, 1])
    assert capsys.readouterr().err.count("rewritten") == 1


def test_what_goes_wrong_while_it_watches_is_said_and_tried_again(monkeypatch, capsys, tmp_path):
    slept = []

    def sleep(_):
        slept.append(1)
        if len(slept) == 1:
            assert main(["events", "add", "orders", "--partition", "2025-01-01"]) == 0
            (tmp_path / "site" / "index.html").write_text("mine")
        if len(slept) == 3:
            (tmp_path / "site" / "index.html").unlink()
        if len(slept) == 4:
            raise KeyboardInterrupt

    monkeypatch.setattr(command.time, "sleep", sleep)
    assert main(["report", "--out", "site", "--watch"]) == 130
    assert capsys.readouterr().err.count("not rewritten: 'site' contains files that are not a report") == 2
    assert len(documents(tmp_path / "site")["runs"]["events"]) == 1
