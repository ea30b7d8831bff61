"""`events add` and `events list`: what is announced, one by one or from a file."""

import json

import pytest

from sparkassets import Project
from sparkassets.errors import InputError

TOO_DEEP = "the extra nests more than 100 objects and lists\n"

pytestmark = pytest.mark.usefixtures("shop", "engine")


def test_an_id_is_taken_once(run_json):
    first = run_json("events", "add", "orders", "--partition", "2025-01-01", "--id", "kafka-7", "--extra", "n=1")
    again = run_json("events", "add", "orders", "--partition", "2025-01-02", "--id", "kafka-7")
    assert again == first
    assert first["id"] == "kafka-7"
    assert len(run_json("events", "list")) == 1


def test_a_known_id_says_so(run_cli, tmp_path):
    first = run_cli("events", "add", "orders", "--id", "kafka-7")[1]
    assert "known" not in first
    again = run_cli("events", "add", "orders", "--id", "kafka-7")[1]
    seq = first.splitlines()[1].split()[0]
    assert again == f"{first}already recorded under the same id: event {seq}\n"
    (tmp_path / "x.jsonl").write_text('{"asset": "orders", "id": "kafka-7"}\n' + '{"asset": "orders", "id": "8"}\n' * 2)
    third = run_cli("events", "add", "--file", "x.jsonl")[1].splitlines()
    assert third[-1] == f"already recorded under the same id: events {seq}, {third[2].split()[0]}"


def test_what_nothing_listens_to_is_recorded_and_said(shop, run_cli, run_json):
    (shop / "assets/mail.yml").write_text("asset: mail\nsql: SELECT 1 AS one\nschedule: {uri: x-go://now}\n")
    assert [run_cli("events", "add", target)[2] for target in ("orders", "x-go://now")] == ["", ""]
    code, out, err = run_cli("events", "add", "s3://lake/ordres")
    assert (code, err) == (0, "nothing in project 'shop' reads or waits for s3://lake/ordres\n")
    assert "  s3://lake/ordres" in out
    assert run_cli("events", "add", "best_shops", "--json")[2].endswith(" reads or waits for best_shops\n")
    assert len(run_json("events", "list")) == 4


def test_when_it_happened_and_a_json_extra(run_json):
    event = run_json("events", "add", "orders", "--at", "2025-01-02T06:00", "--extra", '{"n": 1, "by": {"x": []}}')
    assert (event["at"], event["extra"]) == ("2025-01-02T06:00:00Z", {"n": 1, "by": {"x": []}})
    assert run_json("events", "list")[0]["at"] == "2025-01-02T06:00:00Z"


def test_the_uri_of_an_asset_is_the_asset(run_json):
    uri = run_json("events", "add", "orders")["uri"]
    event = run_json("events", "add", uri, "--partition", "2025-01-01")
    assert (event["asset"], event["partitions"]) == ("orders", ["2025-01-01..2025-01-01"])


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ([], "error: expected ASSET_OR_URI, or --file FILE\n"),
        (["orders", "--extra", "{1}"], "error: --extra '{1}': not a JSON object\n"),
        (["orders", "--extra", "a=1", "--extra", '{"a": 2}'], "error: --extra: 'a' is given twice\n"),
        (["orders", "--extra", "a"], "error: --extra 'a': expected KEY=VALUE\n"),
        (
            ["orders", "--extra", "token=abc"],
            "error: the extra token contains a credential in 'token'; events are clear text\n",
        ),
        (["s3://b/c?sig=1"], "error: the dataset URI contains a credential in 'sig'; events are clear text\n"),
        (["orders", "--extra", '{"a":' + "[" * 3000 + "]" * 3000 + "}"], f"error: {TOO_DEEP}"),
        (["orders", "--extra", "a=" + "[" * 3000 + "]" * 3000], f"error: {TOO_DEEP}"),
        (["orders", "--extra", '{"a": "\\ud800"}'], "error: the extra contains '\\ud800', half of a surrogate pair, "),
        (
            ["some/relative"],
            "error: no asset 'some/relative' in project 'shop'\n  hint: announce a dataset that no asset ",
        ),
        (["orders", "--file", "x"], "error: --file excludes other arguments: each line of the file "),
        (["--file", "x.jsonl"], "error: cannot read 'x.jsonl': No such file or directory\n"),
    ],
)
def test_what_is_refused(run_cli, args, message):
    code, out, err = run_cli("events", "add", *args)
    assert (code, out) == (2, "")
    assert err.startswith(message)


def test_a_file_is_one_commit(tmp_path, run_cli, run_json):
    file = tmp_path / "new.jsonl"
    lines = [{"asset": "orders", "partition": f"2025-01-{day:02}", "id": f"d{day}"} for day in (1, 2)]
    file.write_text("".join(json.dumps(line) + "\r\n" for line in lines) + '\n{"uri": "x-elsewhere://y"}')
    added = run_json("events", "add", "--file", str(file))
    assert [(event["asset"], event["id"]) for event in added] == [("orders", "d1"), ("orders", "d2"), (None, None)]
    numbers = [event["seq"] for event in added]
    assert numbers == list(range(numbers[0], numbers[0] + 3))
    again = run_json("events", "add", "--file", str(file))
    assert [event["seq"] for event in again[:2]] == numbers[:2]
    assert len(run_json("events", "list")) == 4
    file.write_text("\n")
    assert run_cli("events", "add", "--file", str(file)) == (0, "no events\n", "")


def test_a_file_with_a_bad_line_records_nothing(tmp_path, run_cli, run_json):
    file = tmp_path / "new.jsonl"
    file.write_text('{"asset": "orders"}\n{"asset": "order"}\nnonsense\n')
    code, out, err = run_cli("events", "add", "--file", str(file))
    assert (code, out) == (2, "")
    assert err == (
        f"error: 2 of 3 lines are invalid; nothing was recorded\n{file}:2: no asset 'order' in project 'shop'; did "
        f"you mean 'orders'?\n{file}:3: not JSON: Expecting value: line 1 column 1 (char 0)\n"
    )
    assert run_json("events", "list") == []
    file.write_bytes(b"\xff")
    assert run_cli("events", "add", "--file", str(file))[2].startswith(f"error: '{file}' is not UTF-8: ")


def test_from_python():
    project = Project.load("conf")
    first = project.events.add("orders", partition="2025-01-01", id="a", extra={"n": 1})
    assert project.events.add_many([{"asset": "orders", "id": "a"}, '{"asset": "orders"}'])[0] == first
    assert project.events.add_many([]) == []
    with pytest.raises(InputError, match=r"^the line is invalid; nothing was recorded\nlines:1: unknown key"):
        project.events.add_many([{"assets": "orders"}])
    with pytest.raises(InputError, match=r"is a float|\"id\" is 1.5"):
        project.events.add_many([{"asset": "orders", "id": 1.5}])


def test_the_list_of_an_asset_has_every_event_of_its_dataset(shop, run_json):
    for name in ("one", "other"):
        (shop / f"assets/{name}.yml").write_text(f"asset: {name}\nsource: true\nuri: x-both://them\n")
    for target in ("one", "other", "x-both://them", "x-elsewhere://y"):
        run_json("events", "add", target)
    found = run_json("events", "list", "--asset", "one")
    assert [event["asset"] for event in found] == ["one", "other", None]
    assert run_json("events", "list", "--asset", "other") == found
    assert run_json("events", "list", "--asset", "X-both://them") == found
    assert run_json("events", "list", "--asset", "other", "--last", "1") == found[-1:]
    assert run_json("events", "list", "--asset", "x-elsewhere://z") == []


def test_the_list_tells_which_runs_an_event_triggered(run_json, run_cli):
    assert run_json("events", "add", "orders", "--partition", "2025-01-01").keys() >= {"seq", "id"}
    run_json("run")
    runs = {run["asset"]: run["run"] for run in run_json("runs")}
    added, observed, revenue, _ = run_json("events", "list")
    assert (added["triggered"], added["included_in"]) == ([runs["daily_revenue"]], [])
    assert observed["triggered"] == [runs["daily_revenue"]]
    assert (revenue["asset"], revenue["triggered"]) == ("daily_revenue", [runs["best_shops"]])
    assert f"  {runs['daily_revenue']}" in run_cli("events", "list")[1]


def test_an_event_tells_nothing_to_who_goes_by_values(shop, run_cli):
    (shop / "assets" / "raw.yml").write_text("asset: raw\nsource: delta\npath: raw\n")
    (shop / "assets" / "late.yml").write_text(
        "asset: late\npartition: {by: day, column: day}\ninlets: {raw: {partitions: {from: day}}}\n"
        "sql: SELECT day FROM {{ inlets.raw }}\n"
    )
    code, _, err = run_cli("events", "add", "raw")
    assert code == 0
    assert (
        "late reads raw by the values of 'day', which an event does not contain: `sparkassets mark late --missing` "
        "recomputes partitions" in err
    )
    assert "late" not in run_cli("events", "add", "orders", "--partition", "2025-01-01")[2]
