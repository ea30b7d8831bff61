"""Files of a deployment belong to whoever changes them."""

import errno
import os
from pathlib import Path

import pytest

from sparkassets.errors import InputError
from sparkassets.features.deploy.owned_files import RECORD, OwnedContent, write_owned


def contents(**files):
    return {name.replace("__", "/"): OwnedContent(text.encode()) for name, text in files.items()}


def there(folder):
    found = (path for path in folder.rglob("*") if path.is_file() and path.name != RECORD)
    return {path.relative_to(folder).as_posix(): path.read_text() for path in found}


def test_what_was_written_is_written_anew(tmp_path):
    out = tmp_path / "out"
    first = write_owned(out, contents(a="1", b__c="2"))
    assert (list(first.written), list(first.unchanged)) == (["a", "b/c"], [])
    second = write_owned(out, contents(a="1", b__c="3"))
    assert (list(second.written), list(second.unchanged), list(second.removed)) == (["b/c"], ["a"], [])
    assert there(out) == {"a": "1", "b/c": "3"}


def test_what_was_changed_by_hand_stays_and_nothing_is_written(tmp_path):
    write_owned(tmp_path, contents(a="1", b="2", c="3"))
    (tmp_path / "b").write_text("mine")
    with pytest.raises(InputError, match=r"^b in '.*' was changed by hand; nothing was written") as error:
        write_owned(tmp_path, contents(a="new", b="new", c="new"))
    assert error.value.hint == "write elsewhere with --out to keep your changes, or overwrite them with --force"
    assert there(tmp_path) == {"a": "1", "b": "mine", "c": "3"}
    (tmp_path / "c").write_text("mine")
    with pytest.raises(InputError, match=r"b, c in '.*' were changed by hand"):
        write_owned(tmp_path, contents(a="new", b="new", c="new"))
    write_owned(tmp_path, contents(a="new", b="new", c="new"), force=True)
    assert there(tmp_path) == {"a": "new", "b": "new", "c": "new"}


def test_a_file_that_was_there_before_counts_as_one_of_theirs(tmp_path):
    (tmp_path / "a").write_text("theirs")
    with pytest.raises(InputError, match="was changed by hand"):
        write_owned(tmp_path, contents(a="1"))
    (tmp_path / "a").write_text("1")  # the same all the same
    assert list(write_owned(tmp_path, contents(a="1")).unchanged) == ["a"]


def test_what_is_no_part_of_it_any_more_goes_unless_it_was_changed(tmp_path):
    write_owned(tmp_path, contents(a="1", old="1", kept="1"))
    (tmp_path / "kept").write_text("mine")
    assert list(write_owned(tmp_path, contents(a="1")).removed) == ["old"]
    assert there(tmp_path) == {"a": "1", "kept": "mine"}


def test_a_file_that_was_removed_is_written_again(tmp_path):
    write_owned(tmp_path, contents(a="1"))
    (tmp_path / "a").unlink()
    assert list(write_owned(tmp_path, contents(a="1")).written) == ["a"]


@pytest.mark.parametrize("record", ["", "[]", "{", '{"files": {"../x": "1", "/etc/passwd": "2"}}'])
def test_a_record_that_is_none_owns_nothing(tmp_path, record):
    (tmp_path / RECORD).write_text(record)
    (tmp_path / "a").write_text("theirs")
    with pytest.raises(InputError, match="was changed by hand"):
        write_owned(tmp_path, contents(a="1"))


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_cannot_be_written_to(tmp_path):
    tmp_path.chmod(0o500)
    with pytest.raises(InputError, match="cannot write into"):
        write_owned(tmp_path, contents(a="1"))


def test_a_file_where_the_folder_is_to_be(tmp_path):
    (tmp_path / "out").write_text("x")
    with pytest.raises(InputError, match="cannot write into"):
        write_owned(tmp_path / "out", contents(a="1"))


def test_an_error_halfway_leaves_every_file_as_it_was(tmp_path, monkeypatch):
    write_owned(tmp_path, contents(a="1", b="1", old="1"))
    before = there(tmp_path)
    record = (tmp_path / RECORD).read_text()
    write_bytes = Path.write_bytes

    def write(path, data):
        if data == b"full":
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return write_bytes(path, data)

    monkeypatch.setattr(Path, "write_bytes", write)
    with pytest.raises(InputError, match=r"cannot write into '.*': No space left on device"):
        write_owned(tmp_path, contents(a="2", b="full"))
    assert there(tmp_path) == before
    assert (tmp_path / RECORD).read_text() == record
