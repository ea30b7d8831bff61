"""The site in its folder: whole or not at all, what was there before, and what is shown as text."""

import hashlib
import re
from pathlib import Path

import pytest
from pyarrow.fs import LocalFileSystem

from sparkassets.core.documents.report import ReportDocuments
from sparkassets.errors import InputError
from sparkassets.files import folders
from sparkassets.files.folders import open_folder
from sparkassets.report import site as writer
from sparkassets.report import write_site
from tests.report.demo import MARKUP, SECRET, site


def small(number=0, name="shop"):
    return ReportDocuments(
        1, name, {"assets": [], "n": number}, {"runs": [], "events": []}, {"a": {"name": "a"}, "b": {"name": "b"}}
    )


@pytest.fixture(params=["disk", "store"])
def place(request, tmp_path, monkeypatch):
    """A folder that is not there yet: of the disk as such, or behind an object store's interface."""
    folder = tmp_path / "site"
    if request.param == "store":
        folder.parent.mkdir(exist_ok=True)
        store = WithFolders()
        monkeypatch.setattr(folders, "open_store", lambda _: (store, str(folder)))
        return f"s3://{folder}", folder
    return str(folder), folder


class WithFolders:
    """A disk as an object store is: folders are where objects are."""

    def __init__(self):
        self._disk = LocalFileSystem()

    def open_output_stream(self, path, metadata):
        assert metadata["Content-Type"]
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        return self._disk.open_output_stream(path)

    def __getattr__(self, name):
        return getattr(self._disk, name)


def names(folder):
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())


def data_folders(folder):
    return {name.split("/")[1] for name in names(folder) if name.startswith("data/")}


def shown(folder):
    """The data that the page names."""
    return re.search('data-folder="(.*?)"', (folder / "index.html").read_text())[1]


def test_a_site_is_an_index_data_and_what_lays_it_out(place):
    where, folder = place
    written = write_site(small(), where)
    assert written.index == f"{where}/index.html"
    assert {name.split("/")[-1] for name in names(folder)} == {
        *("index.html", "index.js", "runs.js", "assets-0.js"),
        *("report.css", "report.js", "dagre.js", "LICENSES.txt"),
    }
    assert written.files == len(names(folder))
    assert written.bytes == sum((folder / name).stat().st_size for name in names(folder))


def test_whoever_has_the_one_before_open_can_go_on_reading_it(place):
    where, folder = place
    seen = []
    for number in range(4):
        write_site(small(number), where)
        seen.append(shown(folder))
    assert data_folders(folder) == {*seen[-2:]}
    write_site(small(3), where)  # the same again
    assert data_folders(folder) >= {seen[-1]}


def test_the_index_is_written_last(place, monkeypatch):
    where, folder = place
    write_site(small(1), where)
    before = (folder / "index.html").read_bytes()
    data = (folder / "data" / shown(folder) / "index.js").read_bytes()

    kind = type(open_folder(where))
    write = kind.write

    def dies(self, name, content):
        if name == "index.html":
            raise KeyboardInterrupt
        write(self, name, content)

    monkeypatch.setattr(kind, "write", dies)
    with pytest.raises(KeyboardInterrupt):
        write_site(small(2), where)
    assert (folder / "index.html").read_bytes() == before
    assert (folder / "data" / shown(folder) / "index.js").read_bytes() == data


def test_a_site_that_was_never_finished_is_finished(place):
    where, folder = place
    (folder / "data" / "0123456789abcdef").mkdir(parents=True)
    (folder / "data" / "0123456789abcdef" / "index.js").write_text("x")
    write_site(small(), where)
    assert data_folders(folder) == {shown(folder)}


@pytest.mark.parametrize("name", ["index.html", "notes.txt", "data.csv"])
def test_what_is_no_report_is_left_alone(place, name):
    where, folder = place
    folder.mkdir(parents=True)
    (folder / name).write_text("mine")
    with pytest.raises(InputError, match="contains files that are not a report; nothing was written"):
        write_site(small(), where)
    assert names(folder) == [name]


def test_a_disk_that_takes_nothing_is_said(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match=r"the report cannot be written to '.*/file/site': Not a directory"):
        write_site(small(), str(tmp_path / "file" / "site"))


def test_no_file_of_a_failed_writing_is_left(tmp_path, monkeypatch):
    def full(self, content):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(InputError, match="No space left on device"):
        write_site(small(), str(tmp_path / "site"))
    assert names(tmp_path) == []


def test_a_store_that_nobody_knows_is_refused():
    with pytest.raises(InputError, match="cannot write to 'ftp://x/y': unsupported scheme 'ftp://'"):
        write_site(small(), "ftp://x/y")


def test_data_cannot_end_its_script_and_a_name_cannot_end_the_title(tmp_path):
    report = small(name="</title><script>x</script>")
    report = ReportDocuments(1, report.project, {"assets": [], "x": "</script>\u2028<!--"}, report.past, report.assets)
    write_site(report, str(tmp_path / "site"))
    page = (tmp_path / "site" / "index.html").read_text()
    assert "<title>&lt;/title&gt;&lt;script&gt;x&lt;/script&gt;</title>" in page
    (data,) = (tmp_path / "site").rglob("index.js")
    text = data.read_text(encoding="utf-8")
    assert not set("<>&\u2028") & set(text)
    assert '"\\u003c/script\\u003e\\u2028\\u003c!--"' in text


def test_no_script_makes_markup_of_text_or_asks_a_network():
    for path in (Path(writer.__file__).parent / "static").glob("*"):
        if path.is_file():
            text = path.read_text(encoding="utf-8").replace("http://www.w3.org/2000/svg", "")
            assert not re.search(
                r"innerHTML|outerHTML|insertAdjacent|document\.write|eval\(|https?://|fetch\(", text
            ), path


def test_every_script_has_its_place():
    static = Path(writer.__file__).parent / "static"
    assert {path.name for path in static.glob("*.js")} == {*writer.SCRIPTS, writer.FILE_SCRIPT}


def test_the_demo_shows_neither_markup_nor_credentials_in_its_files(tmp_path):
    site(tmp_path / "site")
    text = "".join(path.read_text(encoding="utf-8") for path in (tmp_path / "site" / "data").rglob("*.js"))
    assert MARKUP not in text
    assert SECRET not in text
    assert "hunter2" not in text


def test_what_is_not_ours_is_as_its_authors_published_it():
    vendor = Path(writer.__file__).parent / "static" / "vendor"
    assert {path.name for path in vendor.iterdir()} == {"README.md", "dagre.LICENSE.txt", "dagre.min.js"}
    digest = hashlib.sha256((vendor / "dagre.min.js").read_bytes()).hexdigest()
    assert digest == "7f751ea7f1695a56c55845e4415b8ce7d65620b10a15bf1ea806f70af10f97f2"
    assert "Permission is hereby granted" in (vendor / "dagre.LICENSE.txt").read_text()


def test_whoever_writes_beside_it_takes_nothing_away(place, monkeypatch):
    where, folder = place
    kind = type(open_folder(where))
    write, once = kind.write, []

    def beside(self, name, content):
        if name == "index.html" and not once:
            once.append(name)
            write_site(small(2), where)  # which removes what the page does not name yet
        write(self, name, content)

    monkeypatch.setattr(kind, "write", beside)
    write_site(small(1), where)
    assert (folder / "data" / shown(folder) / "index.js").read_text().count('"n":1') == 1


def test_what_an_older_version_laid_it_out_with_goes_with_its_data(place):
    where, folder = place
    for version in ("0" * 16, "1" * 16):
        (folder / "static" / version).mkdir(parents=True)
        (folder / "static" / version / "report.js").write_text("")
    (folder / ".index.html.0123abcd").write_text("")
    write_site(small(1), where)
    assert len({name.split("/")[1] for name in names(folder) if name.startswith("static/")}) == 1
