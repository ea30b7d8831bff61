"""Packages of a project in a process that continues while their files change."""

import sys

import pytest

from sparkassets.authoring import packages
from sparkassets.authoring.packages import forget_changed_packages, import_from, imported_state


@pytest.fixture
def package(tmp_path):
    """A package `growing`, as a function that writes its modules and returns its folder."""

    def write(**modules):
        folder = tmp_path / "growing"
        folder.mkdir(exist_ok=True)
        for name, text in modules.items():
            (folder / f"{name}.py").write_text(text)
        return str(tmp_path)

    yield write
    for name in [name for name in sys.modules if name.partition(".")[0] == "growing"]:
        del sys.modules[name]


def test_a_package_is_imported_again_once_its_files_have_changed_and_a_project_is_loaded(package):
    folder = package(work="from growing.factors import FACTOR", factors="FACTOR = 2")
    first = import_from("growing.work", folder)
    state = imported_state("growing", folder)
    forget_changed_packages()
    assert import_from("growing.work", folder) is first
    package(factors="FACTOR = 30")
    assert import_from("growing.work", folder) is first, "a loop continues with the code that it has loaded"
    assert imported_state("growing", folder) == state
    forget_changed_packages()
    assert import_from("growing.work", folder).FACTOR == 30
    assert imported_state("growing", folder) != state


def test_a_package_that_is_gone_is_not_found(package, tmp_path):
    folder = package(work="")
    import_from("growing.work", folder)
    (tmp_path / "growing/work.py").unlink()
    forget_changed_packages()
    with pytest.raises(ModuleNotFoundError):
        import_from("growing.work", folder)


def test_a_package_whose_files_can_no_longer_be_read_is_imported_when_it_is_next_needed(package, monkeypatch):
    first = import_from("growing.work", folder := package(work=""))

    def refuse(*_):
        raise PermissionError

    with monkeypatch.context() as patched:
        patched.setattr(packages, "iterate_files", refuse)
        forget_changed_packages()
    assert import_from("growing.work", folder) is not first
