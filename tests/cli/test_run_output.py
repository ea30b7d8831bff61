"""What `run` tells besides: its log, events, figures, and people; whole commands on a project on disk."""

import json
import os
import stat

import pytest

from tests.features.receiver import receiving


def speaks(order):
    print("computing", order.asset.name, "with password=hunter2")


@pytest.fixture
def spoken(shop, engine, said, asked):
    """The name of a run that said something, and of one that did not."""
    engine.hooks["daily_revenue", "compute"] = speaks
    assert said("run")[0] == 0
    runs = {run["asset"]: run["run"] for run in asked("runs")}
    return runs["daily_revenue"], runs["best_shops"]


def test_the_log_of_a_run_is_printed_as_it_said_it(spoken, said, asked):
    run, _ = spoken
    assert said("runs", run, "--log") == (0, "computing daily_revenue with password=***\n", "")
    told = asked("runs", run, "--log")
    assert (told["run"], told["log"]) == (run, "computing daily_revenue with password=***\n")
    (alone,) = asked("runs", run)
    assert (alone["run"], alone["status"]) == (run, "success")


def test_where_there_is_no_log_it_says_why(spoken, said):
    _, silent = spoken
    code, out, err = said("runs", silent, "--log")
    assert (code, out) == (1, "")
    assert err.startswith(f"no log of {silent} on this host: it wrote nothing, ran elsewhere, or is too old")
    code, out, _ = said("runs", silent, "--log", "--json")
    assert (code, json.loads(out)) == (1, {"run": silent, "file": None, "log": None})


@pytest.mark.parametrize(
    ("args", "told"), [(["--log"], "--log needs a run"), (["no-such-run", "--log"], "unknown run 'no-such-run'")]
)
def test_what_is_refused(spoken, said, args, told):
    code, _, err = said("runs", *args)
    assert (code, told in err) == (2, True)


def test_what_a_run_failed_of_follows_what_it_said(shop, engine, said, asked):
    def fails(order):
        speaks(order)
        raise ValueError("no such shop")

    (shop / "project.yml").write_text((shop / "project.yml").read_text() + "defaults: {retries: 0}\n")
    engine.hooks["daily_revenue", "compute"] = fails
    assert said("run")[0] == 1
    run = next(run["run"] for run in asked("runs") if run["status"] == "failed")
    _, out, _ = said("runs", run, "--log")
    assert out.startswith("computing daily_revenue")
    assert out.rstrip().endswith("ValueError: no such shop")


def test_events_go_to_stderr_beside_the_one_document_on_stdout(shop, engine, said):
    code, out, err = said("run", "--json", "--json-progress")
    events = [json.loads(line)["event"] for line in err.splitlines()]
    assert (code, len(json.loads(out)["runs"])) == (0, 2)
    assert (events[0], events[-1], events.count("run_ended")) == ("starting", "ended", 2)


def test_logs_and_progress_at_once_are_refused(shop, said):
    assert said("run", "--log-format", "json", "--json-progress")[0] == 2


def test_figures_are_written_and_the_folder_must_be_there(shop, engine, said, tmp_path):
    file = tmp_path / "shop.prom"
    assert said("run", "--metrics", str(file))[0] == 0
    assert 'sparkassets_runs_total{asset="daily_revenue",project="shop",status="success"} 1.0' in file.read_text()
    code, _, err = said("run", "--metrics", str(tmp_path / "no" / "shop.prom"))
    assert (code, "for metrics does not exist" in err) == (2, True)


def test_people_are_told_once_and_the_exit_code_is_that_of_the_runs(shop, engine, said, monkeypatch, tmp_path):
    def fails(_):
        raise ValueError("no such shop")

    engine.hooks["daily_revenue", "compute"] = fails
    project = shop / "project.yml"
    project.write_text(f"{project.read_text()}\ndefaults: {{retries: 0}}\nnotify: {{to: ALERTS_URL}}\n")
    monkeypatch.setenv("ALERTS_URL", "json://127.0.0.1:9/T0KEN-0f-nobody")
    with pytest.warns(RuntimeWarning, match="ALERTS_URL: the receiver rejected it") as warned:
        code, out, err = said("run")
    assert (code, len(warned)) == (1, 1)
    engine.hooks.clear()
    with receiving() as receiver:
        monkeypatch.setenv("ALERTS_URL", receiver.url)
        assert said("run")[0] == 0
        ((title, lines),) = receiver.received
    assert (title, len(lines)) == ("shop: 1 asset recovered", 1)
    kept = b"".join(each.read_bytes() for each in (shop / "state").rglob("*") if each.is_file())
    assert all(b"T0KEN" not in each for each in (kept, out.encode(), err.encode(), str(warned[0].message).encode()))


@pytest.mark.skipif(os.name == "nt", reason="folders have no modes there")
def test_nobody_else_on_the_host_reads_state_and_logs(shop, engine, said):
    before = os.umask(0o022)
    try:
        engine.hooks["daily_revenue", "compute"] = speaks
        assert said("run")[0] == 0
    finally:
        os.umask(before)
    state = shop / "state"
    assert stat.S_IMODE(state.stat().st_mode) == stat.S_IMODE((state / "logs").stat().st_mode) == 0o750
    (log,) = (state / "logs").iterdir()
    assert stat.S_IMODE(log.stat().st_mode) == 0o640
