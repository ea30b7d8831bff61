"""Modules as people write them, damaged at random: they are read or refused with their places, and never raise else."""

import os
import random

import pytest

from sparkassets.errors import SpecError
from sparkassets.project import load_project
from tests.documents import code_blocks

READINGS = "from sparkassets import asset\n\nreadings = asset('readings', source='delta', path='readings')\n"
MODULES = [*(each.text for each in code_blocks("docs/assets-in-python.md", "python")), READINGS]
PIECES = [
    *("(", ")", "[", "]", "{", "}", ",", "=", ":", "*", "**", "|", "&", "-", "@", "\n", "    ", '"', "'", "f'{", '"""'),
    *(
        "None",
        "True",
        "-1",
        "1e999",
        "9" * 5000,
        "b'x'",
        "...",
        "lambda: 1",
        "[i for i in x]",
        "asset",
        "asset(",
        "Asset",
    ),
    *(
        "orders",
        "revenue",
        "DAILY",
        "DAILY = DAILY\n",
        "name=",
        "sql=",
        "at=",
        "outlets=",
        "é",
        "\\x00",
        "\u2028",
        "${A}",
    ),
    *(
        "def f():",
        "async ",
        "class A:\n    ",
        "import sparkassets as s\n",
        "from sparkassets import *\n",
        "del asset\n",
    ),
]
COUNT = int(os.environ.get("FUZZ_COUNT", "32"))
SEED = int(os.environ.get("FUZZ_SEED", "1"))


def damaged(text: str, chance: random.Random) -> str:
    for _ in range(chance.randint(1, 4)):
        begin = chance.randrange(len(text) + 1)
        end = begin + chance.choice([0, 0, 1, 3, 12])
        text = text[:begin] + chance.choice([*PIECES, text[chance.randrange(len(text)) :][:20]]) + text[end:]
    return text


@pytest.mark.parametrize("part", range(4))
def test_no_damage_is_a_bug(tmp_path, part):
    chance = random.Random(SEED * 10 + part)  # noqa: S311  no secret
    (tmp_path / "project.yml").write_text("project: shop\npython: [jobs]\n")
    (tmp_path / "jobs").mkdir()
    seen = {"read": 0, "refused": 0}
    for _ in range(COUNT // 4):
        for number, text in enumerate(MODULES):
            said = damaged(text, chance) if chance.random() < 0.35 else text
            (tmp_path / f"jobs/m{number}.py").write_text(said, encoding="utf-8")
        try:
            load_project(tmp_path, {})
            seen["read"] += 1
        except SpecError as error:
            problems = error.problems
            seen["refused"] += 1
        else:
            problems = ()
        assert all(each.location.line for each in problems if each.location.file.endswith(".py"))
    assert min(seen.values()) > 0
