"""What a Spark session alone sees is named by the plan, which starts none."""

import json
import shutil

import pyarrow as pa
import pytest
from deltalake import write_deltalake

from tests.delta.spark_tables import write_log

SCHEMA = {"type": "struct", "fields": [{"name": "n", "type": "integer", "nullable": True, "metadata": {}}]}
METADATA = {
    "id": "t",
    "format": {"provider": "parquet", "options": {}},
    "schemaString": json.dumps(SCHEMA),
    "partitionColumns": [],
    "configuration": {},
}


@pytest.fixture
def home(tmp_path, monkeypatch):
    """A project with tables in a catalog, and a source at a path that asks what nobody knows."""
    monkeypatch.chdir(tmp_path)
    features = ["teleportation"]
    protocol = {"minReaderVersion": 3, "minWriterVersion": 7, "readerFeatures": features, "writerFeatures": features}
    write_log(tmp_path / "far", [[{"protocol": protocol}, {"metaData": METADATA}]])
    (tmp_path / "conf").mkdir()
    files = {
        "project.yml": "project: p\nstate: ../state\nwarehouse: ../lake\nassets: [assets.yml]\n",
        "assets.yml": """
asset: far
source: delta
path: ../far
---
asset: named
source: true
table: main.raw.named
---
asset: daily
table: main.gold.daily
sql: SELECT * FROM {{ inlets.far }}, {{ inlets.named }}
---
asset: near
sql: SELECT * FROM {{ inlets.far }}
""",
    }
    for name, text in files.items():
        (tmp_path / "conf" / name).write_text(text)


NAMED, FAR = "its table is in a catalog", "it has teleportation"


def test_the_plan_says_what_a_session_alone_sees(home, run_json, run_cli):
    assert run_json("plan")["needs_session"] == [
        {"asset": "far", "reason": FAR},
        {"asset": "named", "reason": NAMED},
        {"asset": "daily", "reason": NAMED},
    ]
    code, out, _ = run_cli("plan")
    assert code == 0
    assert "only a Spark session can read the current state of these (`plan --spark` starts one):" in out
    lines = {
        line.split()[0]: line for line in out.partition("the current state of these")[2].splitlines() if line.strip()
    }
    assert lines["far"].endswith(FAR)
    assert lines["daily"].endswith(NAMED)
    assert "near" not in lines


def test_where_everything_is_seen_there_is_nothing_to_say(shop, run_json, run_cli):
    assert run_json("plan")["needs_session"] == []
    assert "Spark session" not in run_cli("plan")[1]


def test_the_status_says_it_too(home, run_cli):
    assert f"far: not observed: {FAR}, so only a Spark session can read it" in run_cli("status")[1]


def test_of_several_tables_those_that_are_seen_are_planned(tmp_path, home, run_json, run_cli):
    """One of the tables at paths asks for a session; those in a catalog are not even listed without one."""
    for region in ("de", "nl"):
        write_deltalake(tmp_path / "lake" / f"raw_{region}", pa.table({"x": [1]}))
    shutil.copytree(tmp_path / "far", tmp_path / "lake" / "raw_fr")
    by = "partition: {segments: runtime, column: region}\n"
    several = f"asset: raw\nsource: delta\npath: ../lake/raw_{{region}}\n{by}"
    named = f"---\nasset: named\nsource: delta\ntable: lake.raw_{{region}}\n{by}"
    copies = [f"---\nasset: of_{name}\n{by}inlets: [{name}]\npython: jobs.all:{name}\n" for name in ("raw", "named")]
    (tmp_path / "conf/assets.yml").write_text(several + named + "".join(copies))
    (tmp_path / "conf/jobs").mkdir()
    (tmp_path / "conf/jobs/all.py").write_text("def raw(raw): ...\ndef named(named): ...\n")
    (tmp_path / "conf/project.yml").write_text("project: p\nassets: [assets.yml]\npython: [jobs]\n")
    plan = run_json("plan")
    table = tmp_path / "lake" / "raw_fr"
    assert plan["needs_session"] == [
        {"asset": "raw", "reason": f"{table}: {FAR}"},
        {"asset": "named", "reason": "its tables are in a catalog"},
    ]
    assert [(run["asset"], run["partitions"]["count"]) for run in plan["runs"]] == [("of_raw", 2)]
    noted = f"raw: not observed without a Spark session (`plan --spark` starts one): {table}: {FAR}"
    assert noted in run_cli("status")[1].replace("\n", "")


def test_text_files_that_nobody_has_read_yet_are_counted(tmp_path, monkeypatch, run_json, run_cli):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "conf").mkdir()
    (tmp_path / "conf/project.yml").write_text("project: p\nassets: [assets.yml]\n")
    raw = "asset: raw\nsource: csv\npath: ../in/*.csv\noptions: {escape: '\"', dateFormat: dd.MM.yyyy}\n"
    daily = "asset: daily\npartition: {by: day, column: day}\ninlets: {raw: {partitions: {from: day}}}\n"
    query = "sql: SELECT day FROM {{ inlets.raw }}\n"
    (tmp_path / "conf/assets.yml").write_text(f"{raw}columns: {{day: date}}\n---\n{daily}{query}")
    (tmp_path / "in").mkdir()
    for name in ("a.csv", "b.csv"):
        (tmp_path / "in" / name).write_text("day\n01.02.2025\n")
    assert run_json("plan")["needs_session"] == [{"asset": "raw", "reason": "2 new files not read yet"}]
    assert "raw: 2 new files not read yet: only Spark reads csv (`plan --spark` starts it)" in run_cli("status")[1]
