"""Sinks that packages register: a project names them with their parameters, and none is made before it is told."""

from collections.abc import Sequence

import pytest

from sparkassets.core.sinks import SinkSpec
from tests.core.spec.in_memory import compiled, errors


class Chat:
    def __init__(self, channel: str, mentions: Sequence[str] = ()) -> None:
        raise AssertionError("nobody makes one where a project is compiled")

    def committed(self, commit):
        pass

    def ended(self):
        pass


class Mute:
    def committed(self, commit):
        pass


PLAIN = "asset: a\nsql: SELECT 1 AS id\n"


def files(sinks, more=""):
    return {"project.yml": f"project: shop\nsinks:\n  - {sinks}\n{more}", "a.yml": PLAIN}


def test_a_sink_with_its_parameters():
    project = compiled(files("{sink: chat, channel: data, mentions: [ann]}"), sinks={"chat": Chat})
    assert project.sinks == (SinkSpec("chat", {"channel": "data", "mentions": ["ann"]}),)


def test_a_profile_has_its_own_instead():
    prod, dev = "{state: s, warehouse: w, sinks: [{sink: chat, channel: prod}]}", "{state: d, warehouse: v}"
    profiles = f"profiles: {{prod: {prod}, dev: {dev}}}\n"
    text = files("{sink: chat, channel: data}", profiles)
    channels = {
        name: [each.parameters["channel"] for each in compiled(text, env, sinks={"chat": Chat}).sinks]
        for name in ("prod", "dev")
        for env in [{"SPARKASSETS_PROFILE": name}]
    }
    assert channels == {"prod": ["prod"], "dev": ["data"]}


@pytest.mark.parametrize(
    ("sink", "expected"),
    [
        ("{sink: chatt, channel: a}", "project.yml:3:12: unknown sink 'chatt'; installed: chat, mute"),
        ("{sink: chatt, channel: a}", "hint: did you mean 'chat'?"),
        ("{sink: chat}", "project.yml:3:12: sink 'chat' needs the key 'channel'"),
        (
            "{sink: chat, chanel: a}",
            "project.yml:3:18: unknown key 'chanel' of sink 'chat'; expected channel, mentions",
        ),
        ("{sink: chat, channel: 3}", "project.yml:3:27: 'channel' of sink 'chat' is 3; expected a valid string"),
        ("{sink: mute}", "project.yml:3:12: sink 'mute' has no method 'ended'; it is the class Mute"),
        ("{sink: openlineage}", "'openlineage' is a built-in sink, not one that a package registers"),
        ("{sink: openlineage}", "hint: configure it like its own client, by a variable such as OPENLINEAGE_URL"),
        ("{channel: a}", "project.yml:3:5: missing key 'sink' in item 1 of 'sinks'"),
        ("chat", "'sinks' is"),
        (
            "{sink: chat, channel: 'https://me:hunter2@chat/'}",
            "'channel' contains a password; project files are clear text",
        ),
    ],
)
def test_what_is_refused(sink, expected):
    assert expected in errors(files(sink), sinks={"chat": Chat, "mute": Mute})
    assert "hunter2" not in errors(files(sink), sinks={"chat": Chat, "mute": Mute})
