"""`sparkassets ui`: who may ask the server, what it sends, and which commands it starts."""

import json
import os
import re
import subprocess
import sys
import time
from http.client import HTTPConnection
from pathlib import Path

import pytest

from sparkassets.cli import main
from sparkassets.errors import InputError
from sparkassets.features.ui import server as module
from sparkassets.features.ui.commands import CommandLine, CommandRequest, CommandRunner
from sparkassets.features.ui.live_report import LiveReport, ReportVersion
from sparkassets.features.ui.server import UiServer
from sparkassets.wiring import Project

pytestmark = pytest.mark.usefixtures("shop")
ECHO = "import json, sys; print(json.dumps(sys.argv[1:]))"
SLOW = "import time; print('{}', flush=True); time.sleep(600)"


class Client:
    """A browser of one server: it sends what browsers send by themselves."""

    def __init__(self, address):
        self.port, self.token = re.fullmatch(r"http://127\.0\.0\.1:(\d+)/\?token=(\S+)", address).groups()
        self.cookie = ""

    def ask(self, path, method="GET", body=None, **headers):
        connection = HTTPConnection("127.0.0.1", int(self.port), timeout=60)
        sent = {"Host": f"127.0.0.1:{self.port}", "Cookie": self.cookie, **headers}
        connection.request(method, path, body, {name.replace("_", "-"): value for name, value in sent.items() if value})
        answer = connection.getresponse()
        answer.content = answer.read()
        connection.close()
        return answer

    def enter(self):
        answer = self.ask(f"/?token={self.token}")
        assert answer.status == 200
        self.cookie = answer.headers["Set-Cookie"].partition(";")[0]
        return answer

    def document(self, path, **headers):
        answer = self.ask(path, **headers)
        assert answer.status == 200, answer.content
        return json.loads(answer.content)

    def send(self, path, request=None, **headers):
        own = {"Origin": f"http://127.0.0.1:{self.port}", "X_Sparkassets": "1"}
        return self.ask(path, "POST", json.dumps(request or {}), **{**own, **headers})


def commands(program="-m", argument="sparkassets", *, allows_changes=True):
    line = CommandLine((sys.executable, program, argument), (), dict(os.environ))
    return CommandRunner(line, allows_changes=allows_changes)


@pytest.fixture
def serve(request):
    """Serves the project of the current folder; returns its report and a client that has not entered yet."""

    def start(runner=None):
        report = LiveReport(lambda: Project.load("conf"), clock=lambda: 0.0)
        server = UiServer(report, runner or commands("-c", ECHO), port=0)
        server.__enter__()
        request.addfinalizer(server.__exit__)
        return report, Client(server.address)

    return start


def test_only_the_browser_that_has_the_token_is_answered(serve):
    _, client = serve()
    for path in ("/", "/?token=wrong", "/data/index", "/commands"):
        assert client.ask(path).status == 401, path
    assert client.ask("/", Cookie=f"sparkassets-{client.port}={client.token}").status == 401
    entered = client.enter()
    assert entered.headers["Set-Cookie"].endswith("; Path=/; HttpOnly; SameSite=Strict")
    assert client.token not in client.cookie
    assert client.token.encode() not in entered.content
    assert client.ask("/").status == client.ask("/data/index").status == 200


def test_it_is_asked_by_its_own_name_alone(serve):
    _, client = serve()
    client.enter()
    for host in ("evil.example", f"evil.example:{client.port}", "127.0.0.1", f"127.0.0.1:{client.port}.evil.example"):
        assert client.ask("/", Host=host).status == 403, host
        assert client.send("/commands", {"verb": "explain", "asset": "orders"}, Host=host).status == 403
    assert client.ask("/", Host=f"localhost:{client.port}").status == 200


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "http://evil.example"},
        {"Origin": ""},
        {"Origin": "null"},
        {"X_Sparkassets": ""},
        {"Cookie": "other=1"},
    ],
    ids=str,
)
def test_another_site_starts_nothing(serve, headers):
    _, client = serve()
    client.enter()
    answer = client.send("/commands", {"verb": "pause", "asset": "daily_revenue", "reason": "x"}, **headers)
    assert (answer.status, answer.content) == (403, b"commands are only taken from this server's own page\n")


def test_the_browser_lets_the_page_load_and_do_nothing_else(serve):
    _, client = serve()
    page = client.enter()
    policy = page.headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "frame-ancestors 'none'" in policy
    assert "unsafe" not in policy
    assert page.headers["X-Content-Type-Options"] == "nosniff"
    assert page.headers["Cache-Control"] == "no-store"
    assert b"<script>" not in page.content
    for path in re.findall(rb'(?:src|href)="(static/[^"]+)"', page.content):
        assert client.ask(f"/{path.decode()}").status == 200
    for path in ("/static/../live_report.py", "/data/assets/none", "/commands/1", "/commands/x", "/elsewhere"):
        assert client.ask(path).status == 404, path


def test_a_page_that_has_the_newest_is_told_so_and_else_what_has_changed(serve):
    report, client = serve()
    client.enter()
    first = client.document("/data/index")
    assert first["whole"] is True
    assert [row["name"] for row in first["assets"]] == ["orders", "daily_revenue", "best_shops"]
    assert client.ask("/data/index", If_None_Match=f'"{first["version"]}"').status == 304
    assert report.refresh() is False
    assert main(["pause", "daily_revenue", "--reason", "a strike"]) == 0
    assert report.refresh() is True
    news = client.document("/data/index", If_None_Match=f'"{first["version"]}"')
    assert news["whole"] is False
    assert "graph" not in news["index"]
    assert [row["name"] for row in news["assets"] if row.get("paused")] == ["daily_revenue"]
    assert "best_shops" not in [row["name"] for row in news["assets"]]
    assert client.document("/data/index", If_None_Match='"unknown"')["whole"] is True
    why = json.dumps(client.document("/data/assets/daily_revenue")["why"])
    assert re.search(r"paused by \w+: a strike", why)


def test_changed_files_are_read_again_and_a_mistake_in_them_is_shown(serve, shop):
    report, client = serve()
    client.enter()
    first = client.document("/data/index")["version"]
    text = (shop / "assets/daily_revenue.yml").read_text()
    (shop / "assets/daily_revenue.yml").write_text(text + "tags: [finance]\nownr: ann\n")
    assert report.refresh() is True
    news = client.document("/data/index", If_None_Match=f'"{first}"')
    assert "unknown key 'ownr'" in news["index"]["problem"]
    (shop / "assets/daily_revenue.yml").write_text(text + "tags: [finance]\nowner: ann\n")
    assert report.refresh() is True
    news = client.document("/data/index", If_None_Match=f'"{news["version"]}"')
    assert news["index"]["problem"] == ""
    assert [(row["tags"], row["owner"]) for row in news["assets"] if row["name"] == "daily_revenue"] == [
        (["finance"], "ann")
    ]


def test_a_command_is_what_a_person_would_type(serve):
    _, client = serve()
    client.enter()
    request = {"verb": "mark", "asset": "a", "partition": "--done", "kind": "missing", "reason": "it's bad"}
    command = json.loads(client.send("/commands", request).content)
    assert command["answer"] == ["mark", "a", "--partition=--done", "--missing", "--reason=it's bad", "--json"]
    assert command["command"] == """sparkassets mark a --partition=--done --missing '--reason=it'"'"'s bad'"""
    assert command["exit"] == 0


@pytest.mark.parametrize(
    ("request_", "words"),
    [
        ({"verb": "explain", "partition": "k", "force": True, "reason": "r"}, "explain a --partition=k"),
        ({"verb": "render"}, "render a"),
        ({"verb": "price", "whole": True, "downstream": True}, "backfill a --all --downstream --dry-run"),
        (
            {"verb": "backfill", "interval": "A..B", "force": True, "reason": "r"},
            "backfill a --interval=A..B --force --reason=r",
        ),
        ({"verb": "retry", "partition": "k", "reason": " r "}, "run --select=a --reason=r"),
        ({"verb": "accept", "run": "x", "reason": "r"}, "accept a --run=x --reason=r"),
        ({"verb": "pause", "reason": "r"}, "pause a --reason=r"),
        ({"verb": "resume", "reason": "r"}, "resume a --reason=r"),
    ],
    ids=lambda each: each if isinstance(each, str) else "",
)
def test_every_verb_is_a_command_with_the_options_that_it_takes(request_, words, run_cli):
    arguments = CommandRequest(asset="a", **request_).arguments()
    assert " ".join(arguments) == words
    code, _, err = run_cli(*arguments)
    assert code == 2
    assert "no such option" not in err


def test_what_is_asked_wrongly_is_refused_in_words(serve):
    _, client = serve()
    client.enter()

    def refusal(request):
        answer = client.send("/commands", request)
        assert answer.status == 400
        return json.loads(answer.content)["error"]["message"]

    assert refusal({"verb": "pause", "asset": "a"}) == "the reason is missing"
    assert refusal({"verb": "explain", "asset": "--help"}) == "'--help' is not the name of an asset"
    assert refusal({"verb": "drop", "asset": "a"}).startswith("the request is not valid: Invalid enum value 'drop'")
    assert (
        client.ask("/commands", "POST", "{", Origin=f"http://127.0.0.1:{client.port}", X_Sparkassets="1").status == 400
    )
    assert client.send("/commands", {"verb": "pause", "asset": "a" * 70_000}).status == 413
    assert client.send("/commands/9/stop").status == 404


def test_a_page_that_is_read_only_asks_and_changes_nothing(serve):
    _, client = serve(commands("-c", ECHO, allows_changes=False))
    assert b'data-actions="off"' in client.enter().content
    for verb in ("explain", "render", "price"):
        assert client.send("/commands", {"verb": verb, "asset": "a"}).status == 200
    for verb in ("backfill", "retry", "mark", "accept", "pause", "resume"):
        answer = client.send("/commands", {"verb": verb, "asset": "a", "reason": "r"})
        assert answer.status == 400
        assert json.loads(answer.content)["error"] == {
            "message": "this page is read-only",
            "hint": "start it by `sparkassets ui --allow-actions`, or type the command",
        }


def test_a_command_that_computes_is_not_waited_for_and_can_be_stopped(serve):
    _, client = serve(commands("-c", SLOW))
    client.enter()
    request = {"verb": "backfill", "asset": "a", "whole": True, "reason": "r"}
    command = json.loads(client.send("/commands", request).content)
    assert command["exit"] is None
    assert [each["id"] for each in client.document("/commands")] == [command["id"]]
    second = json.loads(client.send("/commands", {**request, "asset": "b"}).content)["error"]
    assert second["message"] == "`sparkassets backfill a --all --reason=r` has not ended"
    assert client.send(f"/commands/{command['id']}/stop").status == 200
    while (now := client.document(f"/commands/{command['id']}"))["exit"] is None:
        time.sleep(0.05)
    assert now["exit"] != 0
    assert client.document("/commands") == []


def test_the_errors_are_those_of_the_command_line(serve, run_cli):
    _, client = serve(commands())
    client.enter()
    request = {"verb": "mark", "asset": "daily_revenue", "partition": "2025-13-01", "reason": "x"}
    command = json.loads(client.send("/commands", request).content)
    code, out, _ = run_cli("mark", "daily_revenue", "--partition", "2025-13-01", "--missing", "--reason", "x", "--json")
    assert (command["exit"], command["answer"]) == (code, json.loads(out))


def test_a_version_tells_what_differs_from_another():
    old = ReportVersion.encode({"graph": 1, "assets": [{"name": "a"}, {"name": "b"}]}, 1)
    new = ReportVersion.encode({"graph": 2, "assets": [{"name": "a"}, {"name": "b", "state": "failed"}]}, 2)
    document = json.loads(new.differences(old))
    assert document == {
        "version": new.version,
        "at": 2,
        "whole": False,
        "index": {"graph": 2},
        "assets": [{"name": "b", "state": "failed"}],
    }
    other = ReportVersion.encode({"graph": 2, "assets": [{"name": "b", "state": "failed"}, {"name": "a"}]}, 2)
    assert json.loads(other.differences(new))["whole"] is True


def test_a_port_that_is_taken_is_said(serve):
    report, client = serve()
    with pytest.raises(InputError, match=f"cannot serve on port {client.port}"):
        UiServer(report, commands(), port=int(client.port))


def test_the_command_serves_until_it_is_asked_to_end():
    ours = [sys.executable, "-m", "sparkassets", "ui", "--port", "0", "--allow-actions"]
    with subprocess.Popen(ours, stdout=subprocess.PIPE, text=True) as process:
        try:
            client = Client(process.stdout.readline().strip())
            client.enter()
            paused = client.send("/commands", {"verb": "pause", "asset": "best_shops", "reason": "a strike"})
            assert json.loads(paused.content)["answer"] == {"paused": ["best_shops"], "unchanged": []}
        finally:
            process.terminate()
            process.communicate(timeout=60)
    assert process.returncode == 130
    assert re.search(r"paused by \w+: a strike", str(Project.load("conf").explain("best_shops")))


def test_no_script_makes_markup_of_text():
    for path in (Path(module.__file__).parent / "static").glob("*.js"):
        assert not re.search(
            r"innerHTML|outerHTML|insertAdjacent|document\.write|eval\(|https?://", path.read_text()
        ), path
