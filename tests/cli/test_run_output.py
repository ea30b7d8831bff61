"""What `run` tells besides: its log, events, figures, and people; whole commands on a project on disk."""

import json
import os
import stat

import pytest

from tests.features.receiver import receiving


def speaks(order):
    print("computing", order.asset.name, "with password=hunter2")


@pytest.fixture
def spoken(shop, engine, run_cli, run_json):
    """The name of a run that said something, and of one that did not."""
    engine.hooks["daily_revenue", "compute"] = speaks
    assert run_cli("run")[0] == 0
    runs = {run["asset"]: run["run"] for run in run_json("runs")}
    return runs["daily_revenue"], runs["best_shops"]


def test_the_log_of_a_run_is_printed_as_it_said_it(spoken, run_cli, run_json):
    run, _ = spoken
    assert run_cli("runs", run, "--log") == (0, "computing daily_revenue with password=***\n", "")
    told = run_json("runs", run, "--log")
    assert (told["run"], told["log"]) == (run, "computing daily_revenue with password=***\n")
    (alone,) = run_json("runs", run)
    assert (alone["run"], alone["status"]) == (run, "success")


def test_where_there_is_no_log_it_says_why(spoken, run_cli):
    _, silent = spoken
    code, out, err = run_cli("runs", silent, "--log")
    assert (code, out) == (1, "")
    assert err.startswith(f"no log of {silent} on this host: it wrote nothing, ran elsewhere, or is too old")
    code, out, _ = run_cli("runs", silent, "--log", "--json")
    assert (code, json.loads(out)) == (1, {"run": silent, "file": None, "log": None})


@pytest.mark.parametrize(
    ("args", "told"), [(["--log"], "--log needs a run"), (["no-such-run", "--log"], "unknown run 'no-such-run'")]
)
def test_what_is_refused(spoken, run_cli, args, told):
    code, _, err = run_cli("runs", *args)
    assert (code, told in err) == (2, True)


def test_what_a_run_failed_of_follows_what_it_said(shop, engine, run_cli, run_json):
    def fails(order):
        speaks(order)
        raise ValueError("no such shop")

    (shop / "project.yml").write_text((shop / "project.yml").read_text() + "defaults: {retries: 0}\n")
    engine.hooks["daily_revenue", "compute"] = fails
    assert run_cli("run")[0] == 1
    run = next(run["run"] for run in run_json("runs") if run["status"] == "failed")
    _, out, _ = run_cli("runs", run, "--log")
    assert out.startswith("computing daily_revenue")
    assert out.rstrip().endswith("ValueError: no such shop")


def test_events_go_to_stderr_beside_the_one_document_on_stdout(shop, engine, run_cli):
    code, out, err = run_cli("run", "--json", "--json-progress")
    events = [json.loads(line)["event"] for line in err.splitlines()]
    assert (code, len(json.loads(out)["runs"])) == (0, 2)
    assert (events[0], events[-1], events.count("run_ended")) == ("starting", "ended", 2)


def test_logs_and_progress_at_once_are_refused(shop, run_cli):
    assert run_cli("run", "--log-format", "json", "--json-progress")[0] == 2


def test_figures_are_written_and_the_folder_must_be_there(shop, engine, run_cli, tmp_path):
    file = tmp_path / "shop.prom"
    assert run_cli("run", "--metrics", str(file))[0] == 0
    assert 'sparkassets_runs_total{asset="daily_revenue",project="shop",status="success"} 1.0' in file.read_text()
    code, _, err = run_cli("run", "--metrics", str(tmp_path / "no" / "shop.prom"))
    assert (code, "for metrics does not exist" in err) == (2, True)


def test_people_are_told_once_and_the_exit_code_is_that_of_the_runs(shop, engine, run_cli, monkeypatch, tmp_path):
    def fails(_):
        raise ValueError("no such shop")

    engine.hooks["daily_revenue", "compute"] = fails
    project = shop / "project.yml"
    project.write_text(f"{project.read_text()}\ndefaults: {{retries: 0}}\nnotify: {{to: ALERTS_URL}}\n")
    monkeypatch.setenv("ALERTS_URL", "json://127.0.0.1:9/T0KEN-0f-nobody")
    with pytest.warns(RuntimeWarning, match="ALERTS_URL: the receiver rejected it") as warned:
        code, out, err = run_cli("run")
    assert (code, len(warned)) == (1, 1)
    engine.hooks.clear()
    with receiving() as receiver:
        monkeypatch.setenv("ALERTS_URL", receiver.url)
        assert run_cli("run")[0] == 0
        ((title, lines),) = receiver.received
    assert (title, len(lines)) == ("shop: 1 asset recovered", 1)
    kept = b"".join(each.read_bytes() for each in (shop / "state").rglob("*") if each.is_file())
    assert all(b"T0KEN" not in each for each in (kept, out.encode(), err.encode(), str(warned[0].message).encode()))


@pytest.mark.skipif(os.name == "nt", reason="folders have no modes there")
def test_nobody_else_on_the_host_reads_state_and_logs(shop, engine, run_cli):
    before = os.umask(0o022)
    try:
        engine.hooks["daily_revenue", "compute"] = speaks
        assert run_cli("run")[0] == 0
    finally:
        os.umask(before)
    state = shop / "state"
    assert stat.S_IMODE(state.stat().st_mode) == stat.S_IMODE((state / "logs").stat().st_mode) == 0o750
    (log,) = (state / "logs").iterdir()
    assert stat.S_IMODE(log.stat().st_mode) == 0o640
