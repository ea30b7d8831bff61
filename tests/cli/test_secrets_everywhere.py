"""Credentials of every kind, planted wherever a run can say something: no file and no output has one of them."""

import json
import logging

import pyarrow.parquet as pq
import pytest

from tests.core.secret_kinds import KINDS
from tests.features.receiver import receiving

ASSET = "asset: {name}\nsql: SELECT day, count(*) AS n FROM {{{{ inlets.orders }}}} GROUP BY day\n"
LOOKS = [
    ("runs",),
    ("runs", "--json"),
    ("status",),
    ("status", "--json"),
    ("plan",),
    ("plan", "--json"),
    ("explain", "kind_0"),
    ("explain", "kind_0", "--json"),
    ("events", "list", "--json"),
    ("state", "export", "--out", "exported.jsonl"),
    ("report", "--out", "site"),
]


def saying(text):
    def compute(_):
        print(text)
        logging.getLogger("jobs").error("%s", text)
        raise ValueError(text)

    return compute


@pytest.fixture
def planted(shop, engine, monkeypatch, tmp_path):
    """A project with an asset for each kind, which fails with a text that holds it."""
    for number, (text, _) in enumerate(KINDS.values()):
        (shop / "assets" / f"kind_{number}.yml").write_text(ASSET.format(name=f"kind_{number}"))
        engine.hooks[f"kind_{number}", "compute"] = saying(text)
    project = shop / "project.yml"
    project.write_text(f"{project.read_text()}\ndefaults: {{retries: 0}}\nnotify: {{to: ALERTS_URL}}\n")
    log = tmp_path / "lineage.jsonl"
    (tmp_path / "openlineage.yml").write_text(f"transport: {{type: file, log_file_path: {log}, append: true}}\n")
    return shop


def written(folder):
    """All that is in a folder's files, as text."""
    for file in folder.rglob("*"):
        if file.suffix == ".parquet":
            yield file, json.dumps(pq.read_table(file).to_pylist(), default=str, ensure_ascii=False)
        elif file.is_file():
            yield file, file.read_text(errors="replace")


@pytest.mark.parametrize("more", [(), ("--json", "--json-progress"), ("--log-format", "json")], ids=" ".join)
def test_no_credential_is_written_anywhere(planted, run_cli, monkeypatch, tmp_path, more):
    with receiving() as receiver:
        monkeypatch.setenv("ALERTS_URL", receiver.url)
        code, out, err = run_cli("run", "--metrics", str(tmp_path / "shop.prom"), *more)
        assert code == 1
        told = {"messages": json.dumps(receiver.messages, ensure_ascii=False)}
    assert len(receiver.messages) == 1
    printed = [text for text, _ in KINDS.values()]  # an author's own words go to the terminal as they are
    told["run"] = out + err if not more else err
    for text in printed:
        told["run"] = told["run"].replace(text, "")
    for look in LOOKS:
        code, out, err = run_cli(*look)
        assert code == 0, err
        told[" ".join(look)] = out + err
    told |= {str(file.relative_to(tmp_path)): text for file, text in written(tmp_path)}
    assert any(name.endswith(".log") for name in told)
    assert {"lineage.jsonl", "exported.jsonl", "site/index.html"} <= told.keys()
    for name, text in told.items():
        for secret in {secret for _, secret in KINDS.values()}:
            before, found, after = text.partition(secret)
            assert not found, f"{name}: {before[-100:]}{found}{after[:20]}"


def test_the_kinds_are_many():
    assert len(KINDS) >= 40
