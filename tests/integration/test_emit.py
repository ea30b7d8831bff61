"""A function that announces what else it wrote: the event is in the commit, and in the journal with the success."""

from __future__ import annotations

import pytest

from sparkassets import Project

pytestmark = pytest.mark.spark

FILES = {
    "conf/project.yml": "project: emit\nstate: ./state\nwarehouse: ./warehouse\nassets: [assets/]\npython: [work]\n",
    "conf/assets/side.yml": "asset: side\nsource: true\nuri: s3://lake/side\n",
    "conf/assets/made.yml": "asset: made\npython: work.tasks:made\nschedule: x-go://now\n",
    "conf/assets/reader.yml": "asset: reader\nschedule: side\nsql: SELECT 1 AS one\n",
    "conf/work/__init__.py": "",
    "conf/work/tasks.py": (
        "def made(context, spark):\n"
        "    yield {'note': 'ok'}\n"
        "    context.emit('side', extra={'n': 1})\n"
        "    context.emit('x-out://report')\n"
        "    yield spark.range(3)\n"
    ),
}


@pytest.mark.alike
def test_emitted_events_and_yielded_extras(spark, tmp_path, monkeypatch):
    monkeypatch.setenv("SPARKASSETS_CACHE", str(tmp_path / "cache"))
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    project = Project.load(tmp_path / "conf")
    project.events.add("x-go://now")
    summary = project.run(spark)
    assert [(run.asset, run.status, run.error) for run in summary.runs] == [
        ("made", "success", ""),
        ("reader", "success", ""),
    ]
    _go, made, side, out, _reader = project.history.events()
    assert (made["asset"], made["extra"]["note"], made["extra"]["rows"]) == ("made", "ok", 3)
    assert (side["asset"], side["uri"], side["extra"], side["run"]) == (
        "side",
        "s3://lake/side",
        {"n": 1},
        made["run"],
    )
    assert (out["asset"], out["uri"], out["run"]) == (None, "x-out://report", made["run"])
    assert side["triggered"] == [summary.runs[1].run]
    assert project.run(spark).runs == ()
