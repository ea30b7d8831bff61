"""Links between the pages lead somewhere, and every page is in the index."""

import re

import pytest

from tests.documents import ROOT, page

PAGES = ["README.md", *sorted(f"docs/{path.name}" for path in (ROOT / "docs").iterdir())]


@pytest.mark.parametrize("name", PAGES)
def test_links_lead_somewhere(name):
    for link in re.findall(r"\]\(([^)\s]+)\)", page(name)):
        if "://" in link:
            continue
        file, _, anchor = link.partition("#")
        target = (ROOT / name).parent / file if file else ROOT / name
        assert target.exists(), link
        titles = re.findall(r"^#+ (.*)$", target.read_text(encoding="utf-8"), flags=re.MULTILINE) if anchor else []
        assert not anchor or anchor in {re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in titles}


def test_every_page_is_in_the_index():
    index, readme = page("docs/README.md"), page("README.md")
    pages = [name.removeprefix("docs/") for name in PAGES if name.startswith("docs/") and name != "docs/README.md"]
    assert all(f"({name})" in index and f"(docs/{name})" in readme for name in pages)


def test_the_readme_has_two_commands_to_set_up_and_is_short():
    readme = page("README.md")
    assert re.findall(r"^    (make \w+)", readme, flags=re.MULTILINE) == ["make demo", "make test"]
    assert len(readme.splitlines()) < 100
