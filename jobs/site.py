"""`make docs`: the pages of docs/ as a site, in `dist/site/<version>`.

The folders of other versions beside it are offered in the head of every page, by way of `dist/site/versions.json`. The
pages are written to be read on GitHub. Here they are copied with the two pages that lie beside docs/, links to code
become its name, and the index docs/README.md becomes the navigation: its headings are the tabs.
"""

from __future__ import annotations

import json
import posixpath
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

HOME = Path(__file__).parent.parent
BUILD = HOME / "dist"
BESIDE = {"CHANGELOG.md": "changelog.md", "CONTRIBUTING.md": "contributing.md", "SECURITY.md": "reporting.md"}
"""Pages of the repository's root, and where they are on the site."""

LINK = re.compile(r"(?<!!)\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^)\s]+)\)")
ROW = re.compile(r"^\| \[(.+?)\]\((\S+?\.md)\)", re.MULTILINE)
HEADING = re.compile(r"^## ", re.MULTILINE)


def main() -> int:
    """Builds the site; returns the exit code of Zensical, which refuses broken links and anchors."""
    shutil.rmtree(BUILD / "pages", ignore_errors=True)
    shutil.copytree(HOME / "docs", BUILD / "pages")
    for name, copy in BESIDE.items():
        shutil.copy(HOME / name, BUILD / "pages" / copy)
    for path in (BUILD / "pages").rglob("*.md"):
        page = path.relative_to(BUILD / "pages").as_posix()
        path.write_text(localise(path.read_text(encoding="utf-8"), page), encoding="utf-8")
    config = (HOME / "zensical.toml").read_text(encoding="utf-8")
    nav = f"nav = {as_toml(navigation())}\n"
    release = tomllib.loads((HOME / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
    version = ".".join(release.split(".")[:2])
    config = config.replace('site_dir = "site"', f'site_dir = "site/{version}"')
    (BUILD / "zensical.toml").write_text(config.replace("[project]\n", f"[project]\n{nav}", 1), encoding="utf-8")
    command = [str(Path(sys.executable).parent / "zensical"), "build", "--strict"]
    code = subprocess.run(command, cwd=BUILD, check=False).returncode  # noqa: S603  the tool of this environment
    list_versions(BUILD / "site", newest=version)
    return code


def list_versions(site: Path, *, newest: str) -> None:
    """Writes which versions of the site there are, and a start page that leads to the newest."""
    folders = (path.name for path in site.iterdir() if re.fullmatch(r"\d+\.\d+", path.name))
    found = sorted(folders, key=lambda name: [*map(int, name.split("."))], reverse=True)
    listed = [{"version": each, "title": each, "aliases": ["latest"] if each == newest else []} for each in found]
    (site / "versions.json").write_text(json.dumps(listed), encoding="utf-8")
    (site / "index.html").write_text(f'<meta http-equiv="refresh" content="0; url={newest}/">', encoding="utf-8")


def localise(text: str, page: str) -> str:
    """The text of a page with links that its copy can follow; a link to code becomes the name of the code."""
    inner = {copy: name for name, copy in BESIDE.items()}
    home = posixpath.dirname(inner.get(page, f"docs/{page}"))

    def replace(link: re.Match[str]) -> str:
        label, target = link[1], link[2]
        file, _, anchor = target.partition("#")
        if "://" in target or not file:
            return link[0]
        inside = posixpath.normpath(posixpath.join(home, file))
        if inside in BESIDE or inside.startswith("docs/"):
            place = posixpath.relpath(BESIDE.get(inside, inside.removeprefix("docs/")), posixpath.dirname(page) or ".")
            return f"[{label}]({place}{'#' + anchor if anchor else ''})"
        return label if "`" in label else f"`{inside}`"

    return LINK.sub(replace, text)


def navigation() -> list[object]:
    """The tabs: for each heading of the index its pages, and for each index of a folder the pages of that."""
    index = BUILD / "pages/README.md"
    home, *sections = HEADING.split(index.read_text(encoding="utf-8"))
    del home
    tabs: list[object] = [{"Home": "README.md"}]
    for section in sections:
        title, _, body = section.partition("\n")
        tabs.append({title: [entry(label, page) for label, page in ROW.findall(body)]})
    return tabs


def entry(label: str, page: str) -> dict[str, object]:
    """A page in the navigation; an index of a folder with the pages that its table lists."""
    folder, _, name = page.rpartition("/")
    if name != "README.md":
        return {label: page}
    rows = ROW.findall((BUILD / "pages" / page).read_text(encoding="utf-8"))
    return {label: [page, *({label: posixpath.normpath(f"{folder}/{inner}")} for label, inner in rows)]}


def as_toml(value: object) -> str:
    """Nested lists and maps of text in TOML."""
    if isinstance(value, list):
        return f"[{', '.join(map(as_toml, value))}]"
    if isinstance(value, dict):
        pairs = (f"{json.dumps(key, ensure_ascii=False)} = {as_toml(each)}" for key, each in value.items())
        return f"{{ {', '.join(pairs)} }}"
    return json.dumps(value, ensure_ascii=False)


if __name__ == "__main__":
    sys.exit(main())
