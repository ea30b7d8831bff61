"""Events go where OpenLineage's own client is configured to send them; whatever becomes of them, runs go on."""

import json
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from time import monotonic

import pytest

from sparkassets.features.openlineage.facet_builder import FacetBuilder
from sparkassets.features.openlineage.openlineage_sink import OpenLineageSink, build_client
from sparkassets.runtime.sink_dispatch import SinkDispatcher
from sparkassets.state.memory_store import MemoryStore
from sparkassets.wiring.host import SystemClock
from sparkassets.wiring.sinks import make_sinks
from tests.builders import asset, project, source
from tests.features.openlineage.checking import accepted
from tests.runtime.fakes import World


@pytest.fixture(autouse=True)
def nowhere(monkeypatch, tmp_path):
    """Nothing is set up; what the client sets of the environment is undone."""
    import os

    kept = dict(os.environ)
    for name in [name for name in os.environ if name.startswith("OPENLINEAGE") and name != "OPENLINEAGE_SPEC"]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    yield
    os.environ.clear()
    os.environ.update(kept)


def world():
    made = project(source("s"), asset("a", "s", retries=0))
    w = World(made, MemoryStore(), sinks=(OpenLineageSink(FacetBuilder(made, "prod"), now=SystemClock().now),))
    w.tell("s", "2025-01-05")
    return w


def drive(w):
    return w.opened().run()


def kinds(events):
    return [(each["job"]["name"], each["eventType"]) for each in events]


ALL = [("test", "START"), ("test.a", "START"), ("test.a", "COMPLETE"), ("test", "COMPLETE")]


def test_a_file_is_written_to_as_its_configuration_says(tmp_path, monkeypatch):
    log = tmp_path / "events.jsonl"
    (tmp_path / "openlineage.yml").write_text(f"transport: {{type: file, log_file_path: {log}, append: true}}\n")
    assert drive(world()).ok
    events = [json.loads(line) for line in log.read_text().splitlines()]
    assert kinds(events) == ALL
    tags = {each["value"] for event in events for each in event["run"]["facets"].pop("tags")["tags"]}
    assert len(tags) == 1  # the version of the client, which adds it
    for each in events:
        accepted(each)


class Receiver:
    """Receives events over HTTP, and answers with a status, or never."""

    def __init__(self, status=200, *, hangs=False):
        self.bodies, self.keys, self.go = [], set(), threading.Event()
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                if hangs:
                    receiver.go.wait(20)
                receiver.keys.add(self.headers.get("Authorization"))
                receiver.bodies.append(json.loads(body))
                self.send_response(status)
                self.end_headers()

            def log_message(self, *_):
                pass

        self.server = HTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.go.set()
        self.server.shutdown()
        self.server.server_close()


def test_a_server_is_sent_to_with_the_key_that_no_event_holds(monkeypatch):
    with Receiver() as receiver:
        monkeypatch.setenv("OPENLINEAGE_URL", receiver.url)
        monkeypatch.setenv("OPENLINEAGE_API_KEY", "s3cr3t-key")
        assert drive(world()).ok
    assert kinds(receiver.bodies) == ALL
    assert receiver.keys == {"Bearer s3cr3t-key"}
    assert "s3cr3t" not in json.dumps(receiver.bodies)


def test_nobody_listening_fails_no_run_and_is_a_warning(monkeypatch):
    monkeypatch.setenv("OPENLINEAGE__TRANSPORT", '{"type": "http", "url": "http://127.0.0.1:9", "retry": {"total": 0}}')
    with pytest.warns(RuntimeWarning, match=r"^the sink OpenLineageSink raised .*; runs continue"):
        summary = drive(world())
    assert [result.status for result in summary.runs] == ["success"]


@pytest.mark.parametrize("status", [401, 500])
def test_a_refusal_fails_no_run(monkeypatch, status):
    with Receiver(status) as receiver:
        monkeypatch.setenv(
            "OPENLINEAGE__TRANSPORT", json.dumps({"type": "http", "url": receiver.url, "retry": {"total": 0}})
        )
        with pytest.warns(RuntimeWarning, match=r"^the sink OpenLineageSink raised "):
            assert drive(world()).ok
    assert len(receiver.bodies) == 4


def test_who_never_answers_delays_the_end_by_the_grace_alone(monkeypatch):
    monkeypatch.setattr(
        "sparkassets.app.context.SinkDispatcher", lambda *a, **more: SinkDispatcher(*a, **more, grace_seconds=0.3)
    )
    with Receiver(hangs=True) as receiver:
        monkeypatch.setenv("OPENLINEAGE_URL", receiver.url)
        w = world()
        drive(World(w.project, MemoryStore()))  # what is imported once
        begun = monotonic()
        with pytest.warns(RuntimeWarning, match=r"^the sink OpenLineageSink is behind"):
            assert drive(w).ok
        assert monotonic() - begun < 3


def test_without_any_set_up_nothing_follows_and_with_it_one_does(monkeypatch, tmp_path):
    spec = project(source("s"))
    assert make_sinks(spec) == ()
    monkeypatch.setenv("OPENLINEAGE_URL", "http://marquez:5000")
    assert [type(each) for each in make_sinks(spec)] == [OpenLineageSink]
    monkeypatch.setenv("OPENLINEAGE_DISABLED", "True")
    assert make_sinks(spec) == ()


def test_a_project_may_have_none_of_it_or_its_own_namespace(monkeypatch, tmp_path):
    from dataclasses import replace

    monkeypatch.setenv("OPENLINEAGE_CONFIG", str(tmp_path / "ol.yml"))
    (tmp_path / "ol.yml").write_text("transport: {type: console}\n")
    spec = project(source("s"))
    assert make_sinks(replace(spec, openlineage=False)) == ()
    (own,) = make_sinks(replace(spec, openlineage="shop"))
    assert own._facets.namespace == "shop"
    monkeypatch.setenv("OPENLINEAGE_NAMESPACE", "staging")
    (own,) = make_sinks(replace(spec, openlineage="shop"))
    assert own._facets.namespace == "staging"
    (own,) = make_sinks(spec)
    assert (own._facets.namespace, bool(own._facets.adapter)) == ("staging", True)


def test_where_the_code_is_is_told_without_what_its_address_holds_to_get_in(tmp_path, monkeypatch):
    git = tmp_path / ".git"
    git.mkdir()
    (git / "HEAD").write_text("ref: refs/heads/main\n")
    (git / "config").write_text('[remote "origin"]\n\turl = https://me:ghp_t0ken@git.example.org/x/y.git\n')
    log = tmp_path / "events.jsonl"
    monkeypatch.setenv(
        "OPENLINEAGE__TRANSPORT", json.dumps({"type": "file", "log_file_path": str(log), "append": True})
    )
    monkeypatch.setenv("OPENLINEAGE__FACETS", '{"source_code_location": {"disabled": false}}')
    assert drive(world()).ok
    assert "ghp_t0ken" not in log.read_text()
    told = json.loads(log.read_text().splitlines()[0])["job"]["facets"]["sourceCodeLocation"]
    assert told["url"] == told["repoUrl"] == "https://git.example.org/x/y.git"


def test_without_the_package_the_hint_says_which():
    import sys

    kept = {name: sys.modules.pop(name) for name in [*sys.modules] if name.startswith("openlineage")}
    sys.modules["openlineage"] = None
    try:
        with pytest.raises(Exception, match="the package openlineage-python is not installed") as raised:
            build_client()
        assert raised.value.hint.startswith("pip install 'sparkassets[openlineage]'")
    finally:
        del sys.modules["openlineage"]
        sys.modules.update(kept)
