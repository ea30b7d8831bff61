"""A sink of an installed package is made at the first commit; what is wrong with it is a warning of its own."""

import json

import pytest

from sparkassets.core.entry_points import RegisteredError
from sparkassets.core.sinks import SinkSpec
from sparkassets.state.memory_store import MemoryStore
from sparkassets.wiring.registered_sinks import RegisteredSink
from tests.builders import asset, project, source
from tests.example_package import install_example
from tests.runtime.fakes import World


@pytest.fixture(autouse=True)
def _installed(tmp_path, monkeypatch):
    install_example(tmp_path, monkeypatch)


def test_it_is_told_of_runs_and_of_their_end(tmp_path):
    file = tmp_path / "payments.jsonl"
    sink = RegisteredSink(SinkSpec("payment_log", {"file": str(file)}))
    world = World(project(source("s"), asset("a", "s", retries=0)), MemoryStore(), sinks=(sink,))
    world.opened().events.add("s", partition="2025-01-05")
    assert file.read_text() == ""
    world.opened().run()
    assert [json.loads(line)["asset"] for line in file.read_text().splitlines()] == ["a"]


def test_one_that_fails_is_named_in_the_warning():
    sink = RegisteredSink(SinkSpec("payment_log", {"file": "/no/such/folder/payments.jsonl"}))
    world = World(project(source("s"), asset("a", "s", retries=0)), MemoryStore(), sinks=(sink,))
    with pytest.warns(RuntimeWarning, match="^the sink payment_log raised FileNotFoundError"):
        world.opened().events.add("s", partition="2025-01-05")


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        (SinkSpec("gone", {}), "unknown sink 'gone'; installed: payment_log"),
        (SinkSpec("payment_log", {}), "sink 'payment_log' needs the key 'file'"),
    ],
)
def test_what_is_wrong_is_said_at_the_first_commit(spec, message):
    with pytest.raises(RegisteredError) as refused:
        RegisteredSink(spec).committed(None)
    assert message in str(refused.value)


def test_what_is_made_must_have_both_methods(monkeypatch):
    monkeypatch.setattr("payroll.PaymentLog.ended", None)
    with pytest.raises(RegisteredError, match="sink 'payment_log' has no method 'ended'"):
        RegisteredSink(SinkSpec("payment_log", {"file": "x"})).committed(None)
