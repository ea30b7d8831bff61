"""``openlineage`` of project.yml: off, or the namespace of its jobs."""

import pytest

from sparkassets.errors import SpecError
from sparkassets.project import load_project

ASSETS = "asset: a\nsource: true\nuri: x-a\n"


def loaded(folder, text):
    (folder / "assets").mkdir()
    (folder / "assets" / "a.yml").write_text(ASSETS)
    (folder / "project.yml").write_text(f"project: shop\n{text}")
    return load_project(folder, {})


@pytest.mark.parametrize(
    ("text", "told"), [("", None), ("openlineage: false\n", False), ("openlineage: {namespace: eu}\n", "eu")]
)
def test_it_is_off_or_has_a_namespace(tmp_path, text, told):
    assert loaded(tmp_path, text).openlineage == told


def test_anything_else_is_refused(tmp_path):
    with pytest.raises(SpecError, match=r"openlineage' is true; expected false or \{namespace: <name>\}"):
        loaded(tmp_path, "openlineage: true\n")
