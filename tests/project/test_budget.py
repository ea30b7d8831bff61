"""`budget` in the files: sizes with units, and what is no size at its place."""

import pytest

from sparkassets.core.spec.asset_services import RunBudget
from sparkassets.errors import SpecError
from sparkassets.project import load_project

SQL = "asset: a\nsql: SELECT 1 AS n\n"


@pytest.fixture
def load_asset(tmp_path):
    """Loads one asset with this budget."""

    def asset(text, head=SQL):
        (tmp_path / "project.yml").write_text("project: p\nassets: [.]\n")
        (tmp_path / "a.yml").write_text(f"{head}budget: {text}\n")
        return load_project(tmp_path, {}).assets["a"]

    return asset


@pytest.mark.parametrize(
    ("text", "budget"),
    [
        ("{bytes: 10GB}", RunBudget(10_000_000_000)),
        ("{bytes: 512MiB, seconds: 3600}", RunBudget(512 * 2**20, 3600)),
        ("{bytes: 1000}", RunBudget(1000)),
        ("{bytes: 1.5 kB}", RunBudget(1500)),
        ("{seconds: 60}", RunBudget(None, 60)),
        ("{}", RunBudget()),
    ],
)
def test_is_read(load_asset, text, budget):
    assert load_asset(text).budget == budget


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "{bytes: 10XB}",
            "a.yml:3:17: 'bytes' in 'budget' is '10XB'; expected bytes, or a size such as 10GB or 512MiB",
        ),
        ("{bytes: 0}", "a.yml:3:17: 'bytes' in 'budget' is 0; expected bytes, or a size such as 10GB or 512MiB"),
        ("{seconds: 1h}", "a.yml:3:19: 'seconds' in 'budget' is '1h'; expected a whole number of at least 1"),
        ("10GB", "a.yml:3:9: 'budget' is '10GB'; expected {bytes: 10GB, seconds: 3600}"),
        ("{byte: 1}", "a.yml:3:10: unknown key 'byte' in 'budget'"),
    ],
)
def test_what_is_none_is_refused_at_its_place(load_asset, text, message):
    with pytest.raises(SpecError) as found:
        load_asset(text)
    assert message in str(found.value)


def test_a_source_has_none(load_asset):
    with pytest.raises(SpecError, match="'budget' is not allowed for a source: others write it, so nothing runs"):
        load_asset("{bytes: 1GB}", head="asset: a\nsource: true\nuri: x-a\n")


@pytest.fixture
def beside(tmp_path):
    """Loads an asset and a source of a project with this budget."""

    def project(text, own=""):
        (tmp_path / "project.yml").write_text(f"project: p\nassets: [.]\nbudget: {text}\n")
        (tmp_path / "a.yml").write_text(f"{SQL}{own}---\nasset: s\nsource: true\n")
        return load_project(tmp_path, {}).assets

    return project


def test_that_of_the_project_is_of_every_asset_that_does_not_say(beside):
    assets = beside("{bytes: 1kB}")
    assert assets["a"].budget == RunBudget(1000)
    assert assets["s"].budget is None


def test_an_asset_may_have_another_or_none(beside):
    assert beside("{bytes: 1kB}", "budget: {seconds: 5}\n")["a"].budget == RunBudget(None, 5)
    assert beside("{bytes: 1kB}", "budget: {}\n")["a"].budget == RunBudget()


def test_a_wrong_one_is_told_at_its_place(beside):
    with pytest.raises(SpecError, match=r"project.yml:3:10: unknown key 'bites'"):
        beside("{bites: 10}")
