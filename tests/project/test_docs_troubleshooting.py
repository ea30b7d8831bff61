"""docs/troubleshooting.md has a section for each topic of an error, and errors name no others."""

import ast
import json
import re

import pytest

from sparkassets.cli.failures import report_error
from sparkassets.errors import (
    TOPIC_BY_SUFFIX,
    TROUBLESHOOTING,
    FileLocation,
    InputError,
    SparkAssetsError,
    SpecError,
    SpecProblem,
    StateError,
)
from tests.architecture.measures import source_files
from tests.architecture.messages import messages
from tests.documents import ROOT, page
from tests.project.test_docs_links import anchors


def named_topics():
    """Every topic that a class or a kind of file has, or that an error is raised with; a constant is its text."""
    yield from TOPIC_BY_SUFFIX.values()
    for path in (ROOT / "sparkassets").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            match node:
                case ast.ClassDef(body=body):
                    for each in body:
                        match each:
                            case ast.Assign(targets=[ast.Name(id="topic")], value=ast.Constant(value=str(topic))):
                                yield topic
                case ast.keyword(arg="topic", value=ast.Constant(value=str(topic))):
                    yield topic
                case ast.keyword(arg="topic", value=ast.Name(id=name)) if name.isupper():
                    yield getattr(__import__("sparkassets.state.refusals", fromlist=[name]), name)


OF_THE_SYSTEM = {"No space left on device", "Permission denied"}


def quoted_messages():
    """What the page quotes of messages, in italics: the parts between what differs each time."""
    for text in re.findall(r"(?<![\w*])\*([^*]+)\*(?!\*)", page(TROUBLESHOOTING)):
        parts = (part.strip(" ,:") for part in " ".join(text.split()).split("…"))
        yield from (part for part in parts if " " in part and part not in OF_THE_SYSTEM)


def chapters():
    """The anchors of the page by level: its chapters, and their sections."""
    lines = [line for line in page(TROUBLESHOOTING).splitlines() if line.startswith("##")]
    found = dict(zip(lines, anchors(TROUBLESHOOTING)[1:], strict=True))
    return [{anchor for line, anchor in found.items() if line.startswith(f"{level} ")} for level in ("##", "###")]


def of_files(*files):
    """The error of a project with a problem in each of these files."""
    return SpecError([SpecProblem(FileLocation(file, 1, 1), "is wrong") for file in files])


def test_every_topic_has_a_section_and_every_section_a_topic():
    outer, inner = chapters()
    assert set(named_topics()) == inner
    assert 25 <= len(inner) + len(outer) <= 40


@pytest.mark.parametrize("kind", SparkAssetsError.__subclasses__())
def test_every_kind_of_error_has_a_topic_of_its_own(kind):
    assert "topic" in vars(kind)


@pytest.mark.parametrize(
    ("error", "last"),
    [
        (StateError("gone", topic="lost-state"), "  help: docs/troubleshooting.md#lost-state"),
        (StateError("bad", hint="look"), "  help: docs/troubleshooting.md#state-damaged"),
        (InputError("no such day", hint="look"), "  help: docs/troubleshooting.md#invalid-argument"),
        (of_files("a.yml", "a.sql"), "  help: docs/troubleshooting.md#invalid-project"),
        (of_files("a.sql", "macros/b.sql"), "  help: docs/troubleshooting.md#invalid-sql"),
        (of_files("jobs/a.py"), "  help: docs/troubleshooting.md#invalid-python"),
    ],
)
def test_an_error_that_stops_a_command_names_its_section_once_and_last(error, last, capsys):
    report_error(error, as_json=True)
    captured = capsys.readouterr()
    assert captured.err.splitlines()[-1] == last
    assert captured.err.count("help:") == 1
    assert json.loads(captured.out)["error"]["help"] == last.removeprefix("  help: ")


def test_a_message_that_the_page_quotes_is_one():
    texts = [message.text for message in messages(source_files(ROOT / "sparkassets"))]
    quoted = list(quoted_messages())
    assert len(quoted) > 20
    assert [part for part in quoted if not any(part in text for text in texts)] == []
