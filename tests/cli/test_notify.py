"""`sparkassets notify`: a test of the receivers, and silence."""

import json

import pytest

from tests.features.receiver import receiving

PROJECT = "project: p\nassets: [.]\nnotify: {to: ALERTS_URL}\n"
ASSETS = "asset: raw\nsource: csv\npath: raw/{day}.csv\npartition: {by: day, column: day}\n---\n"
ASSETS += "asset: a\ntags: [sales]\nsql: SELECT * FROM {{ inlets.raw }}\n"


@pytest.fixture
def conf(make_conf):
    return make_conf({"project.yml": PROJECT, "all.yml": ASSETS})


@pytest.mark.usefixtures("conf")
def test_the_exit_code_says_whether_all_have_accepted(run_cli, monkeypatch):
    with receiving() as receiver:
        monkeypatch.setenv("ALERTS_URL", receiver.url)
        assert run_cli("notify", "test") == (0, "  receiver    answer\n  ALERTS_URL  accepted the message\n", "")
        receiver.status = 403
        code, out, _ = run_cli("notify", "test", "--to", "ALERTS_URL", "--json")
    fault = "the receiver rejected it"
    assert (code, json.loads(out)) == (1, [{"receiver": "ALERTS_URL", "accepted": False, "fault": fault}])


@pytest.mark.usefixtures("conf", "engine")
def test_silence(run_cli, run_json):
    assert run_cli("notify", "silence", "tag:sales", "--until", "2100-01-01", "--reason", "moving") == (
        0,
        "a  is silent until 2100-01-01\n",
        "",
    )
    (status,) = [each for each in run_json("status") if each["asset"] == "a"]
    assert status["notes"][-1].endswith("until 2100-01-01T00:00Z: moving")
    assert run_json("notify", "silence", "a", "--end") == {"silenced": [], "until": None}
    assert run_cli("notify", "silence", "a")[0] == 2
