"""Places as the disk has them: links, and what does not exist yet."""

import os
import tempfile
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparkassets.core.spec.storage_overlaps import StorageSite, sites_overlap
from sparkassets.errors import SpecError
from sparkassets.project import load_project
from sparkassets.project.project_loader import check_storage, make_site_finder


def write(folder, **files):
    for name, text in {"project": "project: p\nassets: [.]\n", **files}.items():
        (folder / f"{name}.yml").write_text(text)
    return folder


def test_a_target_that_is_a_link_into_the_state_is_refused(tmp_path):
    write(tmp_path, a="asset: a\nsql: SELECT 1\npath: out/a\n")
    assert load_project(tmp_path, {}).assets
    (tmp_path / "state" / "journal").mkdir(parents=True)
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "a").symlink_to(tmp_path / "state" / "journal")
    with pytest.raises(SpecError) as error:
        load_project(tmp_path, {})
    (problem,) = error.value.problems
    assert problem.location.line == 1
    assert problem.location.file.endswith("a.yml")
    assert "the target 'out/a' lies inside the state" in problem.message


def test_a_link_that_comes_after_the_project_was_loaded_is_found_before_anything_is_written(tmp_path):
    write(tmp_path, a="asset: a\nsql: SELECT 1\npath: x\n", b="asset: b\nsql: SELECT 1\npath: y\n")
    project = load_project(tmp_path, {})
    check_storage(project)
    (tmp_path / "x").mkdir()
    (tmp_path / "y").symlink_to("x")
    with pytest.raises(SpecError, match="the target 'y' is also the target of asset 'a', 'x'"):
        check_storage(project)


def test_names_that_differ_by_case_are_one_place_where_the_disk_says_so(tmp_path):
    (tmp_path / "Lake").mkdir()
    (tmp_path / "lAKE").symlink_to("Lake")  # as a disk that folds case would have it
    inside = make_site_finder()
    assert sites_overlap(inside(f"{tmp_path}/Lake/New/x"), inside(f"{tmp_path}/Lake/new"))
    apart = make_site_finder()
    (tmp_path / "lAKE").unlink()
    assert not sites_overlap(apart(f"{tmp_path}/Lake/New/x"), apart(f"{tmp_path}/Lake/new"))


def test_what_is_no_path_of_this_disk_is_as_it_is_written():
    assert make_site_finder()("s3://lake/x") == StorageSite("s3://lake", ("x",))


def test_a_project_with_places_in_each_other_is_refused_with_all_of_them(tmp_path):
    project = load_project(write(tmp_path, a="asset: a\nsql: SELECT 1\n", b="asset: b\nsql: SELECT 1\n"), {})
    (tmp_path / "state").mkdir()
    (tmp_path / "warehouse").symlink_to("state")
    with pytest.raises(SpecError) as error:
        check_storage(replace(project))
    assert len(error.value.problems) == 2


paths = st.lists(st.sampled_from(["a", "b", "c", ".."]), min_size=1, max_size=4).map("/".join)
links = st.dictionaries(st.sampled_from(["a/l", "b/l", "l", "a/b/l"]), paths, max_size=3)
places = paths | st.tuples(paths, st.sampled_from(["l", "l/a", "a/l", "l/../b", "l/l"])).map("/".join)


@given(links, st.lists(paths, max_size=4), places, places)
def test_what_overlaps_is_what_the_disk_puts_into_each_other(linked, made, one, other):
    with tempfile.TemporaryDirectory() as temporary:
        root = Path(temporary, "deep", "er", "still")
        for path in ("", *made):
            Path(os.path.normpath(root / path)).mkdir(parents=True, exist_ok=True)
        for name, to in linked.items():
            if not os.path.lexists(root / name) and (root / name).parent.is_dir():
                (root / name).symlink_to(root / to)
        locate = make_site_finder()
        first, second = locate(f"{root}/{one}"), locate(f"{root}/{other}")
        real = [Path(os.path.realpath(os.path.normpath(f"{root}/{each}"))) for each in (one, other)]
        expected = real[0].is_relative_to(real[1]) or real[1].is_relative_to(real[0])
        assert sites_overlap(first, second) is sites_overlap(second, first) is expected
