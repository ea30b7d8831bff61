"""How long a state keeps its entries, by project and by profile."""

from __future__ import annotations

import pytest

from sparkassets.core.variables import PROFILE
from tests.core.spec.in_memory import compiled

DAY = 86_400


@pytest.mark.parametrize(
    ("profile", "days"),
    [
        ("./dev", 30),
        ("{path: ./dev}", 30),
        ("{path: ./dev, retention: 7d}", 7),
        ("{catalog: main, schema: ops}", 30),
        ("{catalog: main, schema: ops, retention: 90d}", 90),
        ("{path: 's3://b/dev', commit: spark}", 30),
    ],
)
def test_a_profile_goes_by_the_project_unless_it_says_so(profile, days):
    text = "project: p\nstate: {path: ./st, retention: 30d}\nwarehouse: ./w\nprofiles:\n"
    text += f"  dev: {{state: {profile}, warehouse: ./v}}\n"
    files = {"project.yml": text, "a.yml": "asset: a\nsource: true\n"}
    kept = compiled(files, env={PROFILE: "dev"}).retention
    assert kept == days * DAY
    assert compiled(files).retention == 30 * DAY
