"""Links between the pages and citations in the code lead somewhere, and every page is in an index."""

import re
from pathlib import Path

import pytest

from tests.documents import ROOT, page

PAGES = ["README.md", "CONTRIBUTING.md", *sorted(str(path.relative_to(ROOT)) for path in (ROOT / "docs").rglob("*.md"))]
FENCED = re.compile(r"^```.*?^```$", re.DOTALL | re.MULTILINE)
CITED = re.compile(r"\bdocs/[\w/-]+\.md(?:#[\w-]+)?")
PATH = re.compile(r"`([\w./]+/(?:\w+\.py)?|\w+\.py)`")


def missing_paths(text):
    """Files and folders that a text names, by their path from the root or in the package, and that do not exist."""
    paths = PATH.findall(text)
    return [path for path in paths if not any((root / path).exists() for root in (ROOT, ROOT / "sparkassets"))]


def anchors(name):
    """What the headings of a page are linked by."""
    titles = re.findall(r"^#+ (.*)$", FENCED.sub("", page(name)), flags=re.MULTILINE)
    return [re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in titles]


@pytest.mark.parametrize("name", PAGES)
def test_links_lead_somewhere(name):
    for link in re.findall(r"\]\(([^)\s]+)\)", page(name)):
        if "://" in link:
            continue
        file, _, anchor = link.partition("#")
        target = (ROOT / name).parent / file if file else ROOT / name
        assert target.exists(), link
        assert not anchor or anchor in anchors(target), link


@pytest.mark.parametrize("folder", ["sparkassets", "jobs", "tests"])
def test_citations_in_the_code_lead_to_a_heading(folder):
    broken = []
    for path in (ROOT / folder).rglob("*.py"):
        for cited in CITED.findall(path.read_text(encoding="utf-8")):
            name, _, anchor = cited.partition("#")
            if not (ROOT / name).exists() or (anchor and anchor not in anchors(name)):
                broken.append(f"{path.relative_to(ROOT)}: {cited}")
    assert broken == []


@pytest.mark.parametrize("name", [name for name in PAGES if name.startswith("docs/") and name != "docs/README.md"])
def test_a_page_is_in_the_index_of_its_folder(name):
    path = Path(name).relative_to("docs")
    index = "README.md" if path.name == "README.md" else f"{path.parent}/README.md"
    link = path if path.name == "README.md" else path.name
    assert f"({link})" in page(f"docs/{index}")


@pytest.mark.parametrize("name", [name for name in PAGES if name.startswith("docs/design/")])
def test_a_page_of_the_design_is_short_and_names_folders_that_exist(name):
    assert sum(any(map(str.isalnum, word)) for word in page(name).split()) <= 1200
    assert len(set(anchors(name))) == len(anchors(name))
    where = re.search(r"^Code: (.*?)\n\n", page(name), flags=re.DOTALL | re.MULTILINE)
    assert where is None or missing_paths(where[1]) == []


def test_the_recipes_name_files_that_exist():
    recipes = page("CONTRIBUTING.md").partition("\n## Recipes\n")[2]
    assert len(PATH.findall(recipes)) > 10
    assert missing_paths(recipes) == []


@pytest.mark.parametrize("kind", ["a source format", "a write mode", "a timetable", "a check", "a sink"])
def test_a_recipe_names_three_files_of_the_product_at_most(kind):
    recipe = re.search(rf"^### Add {kind}\n(.*?)(?=^##|\Z)", page("CONTRIBUTING.md"), flags=re.DOTALL | re.MULTILINE)
    steps = re.findall(r"^\d\. .*?(?=^\d\. |^$)", recipe[1], flags=re.DOTALL | re.MULTILINE)
    files = [path for step in steps for path in PATH.findall(step)]
    assert 1 <= len(files) == len(steps) <= 3
    for step, path in zip(steps, files, strict=True):
        text = (ROOT / "sparkassets" / path).read_text(encoding="utf-8")
        assert [name for name in re.findall(r"`(\w+)`", step) if name not in text] == []


def test_a_term_of_the_glossary_is_defined_once_in_one_sentence():
    terms = re.findall(r"^\| \*\*(.+)\*\* \| (.+) \|$", page("docs/glossary.md"), flags=re.MULTILINE)
    assert len(terms) > 60
    assert sorted({term for term, _ in terms}) == [term for term, _ in terms]
    assert all(". " not in meaning and not meaning.endswith(".") for _, meaning in terms)


def test_the_pages_have_30000_words_at_most():
    """Of all pages but those that are generated, without fenced code; a word has a letter or a digit."""
    generated = {"docs/reference.md", "docs/cli.md", "docs/performance.md", "CONTRIBUTING.md"}
    texts = {name: FENCED.sub("", page(name)) for name in PAGES if name not in generated}
    words = {name: sum(any(map(str.isalnum, word)) for word in text.split()) for name, text in texts.items()}
    assert sum(words.values()) <= 30_000, sorted(words.items(), key=lambda each: -each[1])[:10]


def test_a_release_in_the_changelog_is_short():
    releases = page("CHANGELOG.md").split("\n## ")[1:]
    assert all(len(release.split()) <= 2_500 for release in releases)


def test_a_concept_has_a_drawing_and_is_short():
    for path in (ROOT / "docs/concepts").glob("*.md"):
        text = path.read_text(encoding="utf-8")
        assert "```mermaid" in text, path
        assert len(text.split()) <= 1100, path


def test_the_readme_has_two_commands_to_set_up_and_is_short():
    readme = page("README.md")
    assert re.findall(r"^    (make \w+)", readme, flags=re.MULTILINE) == ["make demo", "make test"]
    assert len(readme.splitlines()) < 100


@pytest.mark.parametrize("folder", ["sparkassets", "jobs", "tests"])
def test_rules_are_cited_by_page_and_heading(folder):
    numbered = re.compile("DESIGN" + r"(\.md)?\s+sections?\s+\d")
    paths = (ROOT / folder).rglob("*.py")
    assert [str(path) for path in paths if numbered.search(path.read_text(encoding="utf-8"))] == []
