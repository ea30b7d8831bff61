"""The site of `make docs` has a folder for each version, and leads to the newest."""

import json

from jobs.site import list_versions


def test_every_version_beside_is_listed_newest_first(tmp_path):
    for name in ("0.2", "0.10", "0.9", "assets"):
        (tmp_path / name).mkdir()
    list_versions(tmp_path, newest="0.10")
    listed = json.loads((tmp_path / "versions.json").read_text())
    assert [each["version"] for each in listed] == ["0.10", "0.9", "0.2"]
    assert [each["aliases"] for each in listed] == [["latest"], [], []]
    assert 'url=0.10/"' in (tmp_path / "index.html").read_text()
