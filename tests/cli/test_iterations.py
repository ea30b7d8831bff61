"""`sparkassets iterations`: what was published, in words and in JSON, and the way back."""

import pytest

ASSET = """
asset: snapshot
inlets: [orders]
schedule: manual
write: {publish: {keep: 2}}
sql: SELECT count(*) AS n FROM {{ inlets.orders }}
"""


@pytest.fixture
def published(shop, engine, run_cli):
    """Publishes once more."""
    (shop / "assets/snapshot.yml").write_text(ASSET + "retries: 0\n")

    def publish():
        assert run_cli("backfill", "snapshot")[0] == 0

    return publish


def test_nothing_is_published_yet(published, run_cli, run_json):
    assert run_cli("iterations", "snapshot") == (0, "snapshot has published nothing yet\n", "")
    assert run_json("iterations", "snapshot") == []


def test_the_last_comes_first_and_older_ones_go(published, run_cli, run_json):
    for _ in range(3):
        published()
    newest, older = run_json("iterations", "snapshot")
    assert (newest["newest"], older["newest"]) == (True, False)
    assert list(newest) == ["run", "partitions", "data_interval", "published_at", "newest", "path", "extra"]
    assert newest["path"].endswith("/rows")
    assert newest["extra"] == {"rows": 5}
    code, out, _ = run_cli("iterations", "snapshot")
    title, first, second = out.splitlines()
    assert (code, title.split()) == (0, ["run", "published", "path", "extra"])
    assert (newest["run"] in first, "newest" in first) == (True, True)
    assert (older["run"] in second, "newest" in second) == (True, False)


def test_an_older_one_is_the_newest_again(published, run_cli, run_json):
    published()
    published()
    _, older = run_json("iterations", "snapshot")
    assert run_cli("iterations", "snapshot", "--rollback", older["run"])[:2] == (
        0,
        f"snapshot: {older['run']} is the newest again\n",
    )
    assert [each["newest"] for each in run_json("iterations", "snapshot")] == [False, True]
    event = run_json("events", "list", "--last", "1")[0]
    assert (event["asset"], event["extra"]["rollback"], event["extra"]["run"]) == ("snapshot", True, older["run"])
    code, _, err = run_cli("iterations", "snapshot", "--rollback", older["run"])
    assert (code, f"not rolled back: snapshot: {older['run']} is already the newest iteration" in err) == (
        2,
        True,
    )


def test_a_rollback_tells_what_became_of_it(published, engine, run_cli, run_json):
    published()
    published()
    newest, older = run_json("iterations", "snapshot")
    told = run_json("iterations", "snapshot", "--rollback", older["run"])
    assert told.pop("run").startswith("snapshot-")
    assert told == {"asset": "snapshot", "rolled_back_to": older["run"], "status": "success", "error": ""}

    def fail(_):
        raise OSError("read-only file system")

    engine.hooks["snapshot", "write"] = fail
    code, out, err = run_cli("iterations", "snapshot", "--rollback", newest["run"])
    assert (code, out) == (1, "")
    assert "snapshot: not rolled back: " in err
    assert "read-only file system" in err


@pytest.mark.parametrize(
    ("args", "told"),
    [
        (("daily_revenue",), "asset 'daily_revenue' has no iterations"),
        (("snapshot", "--rollback", "x"), "asset 'snapshot' has no iteration of run 'x'; it has none yet"),
        (("nothing",), "no asset 'nothing' in project"),
    ],
)
def test_what_is_refused(published, run_cli, args, told):
    code, out, err = run_cli("iterations", *args)
    assert (code, out) == (2, "")
    assert told in err
