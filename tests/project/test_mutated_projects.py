"""Projects as people write them, damaged at random: they compile or are refused with their places, in little memory.

``FUZZ_SEED`` and ``FUZZ_COUNT`` (``--fuzz-seed``, ``--fuzz-count``) look elsewhere and longer.
"""

import os
import random
import shutil
import tracemalloc
from pathlib import Path

import pytest

from sparkassets.errors import InputError, SpecError
from sparkassets.project import load_project

REPOSITORY = Path(__file__).parents[2]
PROJECTS = [*(file.parent for file in sorted((REPOSITORY / "tests" / "examples").glob("*/**/project.yml")))]
PROJECTS.append(REPOSITORY / "conf")
TEXTS = (".yml", ".sql", ".py")
MEGABYTES = 40
LONGEST = 6_000
"""Characters of one problem as it is shown."""

BYTES = [b"\0", b"\xff", b"\xef\xbb\xbf", b"\r", b"\t", b"\x85", b"\xed\xa0\x80", b"\xf0\x9f\x98\x80", b"\x1b"]
WORDS = [
    *(
        "{",
        "}",
        "[",
        "]",
        ": ",
        "- ",
        "*x",
        "&x ",
        "!!int ",
        "@",
        "#",
        "\n",
        "\n  ",
        "'",
        '"',
        "|\n",
        "${",
        "${A}",
        "{{",
    ),
    *("%}", "{%", "~", "0", "-1", "9" * 5_000, "1e999", "0x" + "f" * 5_000, "null", "true", ".inf", "---\n", "<<: *x"),
    *(
        "9999-12-31",
        "0001-01-01",
        "9000y",
        "-1d",
        "24:00",
        "Mars/Base",
        "@daily",
        "* * * * *",
        "0 0 31 2 *",
        "x" * 3_000,
    ),
    *("[" * 300, "(" * 300, "a & " * 300, "{a: " * 200, "- " * 200, "(1 + " * 300, "{{ 'a' * 10 ** 10 }}", "\\ud83d"),
    *("{day:%Y}", "{day}", "**/", "../", "/", "s3://me:pw@b/x", "password=x", "=a:" * 500, "\\'" * 500, "1" * 400),
]


def by_bytes(source, content):
    at = source.randrange(len(content) + 1)
    return content[:at] + source.choice(BYTES) + content[at + source.randrange(3) :]


def by_words(source, content):
    at = source.randrange(len(content) + 1)
    return content[:at] + source.choice(WORDS).encode() + content[at + source.choice((0, 0, 1, 8)) :]


def by_lines(source, content):
    lines = content.split(b"\n")
    some, other = (source.randrange(len(lines)) for _ in range(2))
    match source.randrange(4):
        case 0:
            del lines[some]
        case 1:
            lines.insert(other, lines[some])
        case 2:
            lines[some] = b" " * source.randrange(1, 6) + lines[some]
        case _:
            lines[some], lines[other] = lines[other], lines[some]
    return b"\n".join(lines)


def by_values(source, content):
    """Another value behind a key."""
    lines = content.split(b"\n")
    keys = [number for number, line in enumerate(lines) if b": " in line]
    if keys:
        number = source.choice(keys)
        lines[number] = lines[number].partition(b": ")[0] + b": " + source.choice(WORDS).encode()
    return b"\n".join(lines)


MUTATIONS = (by_bytes, by_words, by_words, by_lines, by_values)


def damage(source, folder):
    """Changes a few files of a project, and says what was done."""
    files = sorted(file for file in folder.rglob("*") if file.suffix in TEXTS and file.is_file())
    done = []
    for file in source.choices(files, k=source.randint(1, 3)):
        how = source.choice(MUTATIONS)
        file.write_bytes(how(source, file.read_bytes()))
        done.append(f"{how.__name__} in {file.relative_to(folder)}")
    return done


def refused(folder):
    """The problems of a project; nothing else than these is ever raised."""
    try:
        load_project(folder, {"A": "value-of-the-environment"})
    except SpecError as error:
        return error.problems
    return ()


@pytest.mark.filterwarnings("ignore::SyntaxWarning", "ignore::DeprecationWarning")  # of the modules' own escapes
def test_no_damage_is_a_bug(tmp_path, monkeypatch, fuzz_seed, fuzz_count):
    monkeypatch.chdir(tmp_path)
    for number in range(fuzz_count):
        source = random.Random(f"{fuzz_seed}/{number}")  # noqa: S311  nothing is secret
        folder = tmp_path / "project"
        project = source.choice(PROJECTS)
        shutil.copytree(project, folder)
        told = f"seed {fuzz_seed}, number {number}: {os.path.relpath(project, REPOSITORY)}, {damage(source, folder)}"
        measured = number % 10 == 0  # measuring takes several times as long
        try:
            if measured:
                tracemalloc.start()
            problems = refused(folder)
            assert not measured or tracemalloc.get_traced_memory()[1] < MEGABYTES * 1_000_000, told
        except Exception as error:
            error.add_note(told)
            raise
        finally:
            tracemalloc.stop()
        for problem in problems:
            assert problem.location.file, told
            assert problem.location.line or "cannot be read" in problem.message, f"{told}: {problem}"
            assert len(str(problem)) < LONGEST, told
            assert "value-of-the-environment" not in str(problem), told
        shutil.rmtree(folder)


def edit(source, folder, original):
    """Changes a file of a project: damages it, restores it, gives it the text of another, or removes it."""
    file = source.choice([file for file in sorted(original.rglob("*")) if file.suffix in TEXTS and file.is_file()])
    here = folder / file.relative_to(original)
    match source.randrange(6):
        case 0 | 1 if here.exists():
            here.write_bytes(source.choice(MUTATIONS)(source, here.read_bytes()))
        case 2:
            others = [each for each in sorted(original.rglob(f"*{file.suffix}")) if each.is_file()]
            here.write_bytes(source.choice(others).read_bytes())
        case 3:
            here.unlink(missing_ok=True)
        case _:
            here.write_bytes(file.read_bytes())
    return here.relative_to(folder)


def compiled(folder, cache):
    """The project, or its problems with their places."""
    try:
        return load_project(folder, {"A": "value-of-the-environment"}, cache=cache)
    except SpecError as error:
        return error.problems
    except InputError as error:  # there is no project file
        return str(error)


@pytest.mark.filterwarnings("ignore::SyntaxWarning", "ignore::DeprecationWarning")  # of the modules' own escapes
def test_an_edited_project_is_what_it_is_without_a_cache(tmp_path, monkeypatch, fuzz_seed, fuzz_count):
    monkeypatch.chdir(tmp_path)
    for number in range(fuzz_count // 6):
        source = random.Random(f"{fuzz_seed}/{number}")  # noqa: S311  nothing is secret
        original, folder, cache = source.choice(PROJECTS), tmp_path / "project", tmp_path / "cache"
        shutil.copytree(original, folder)
        compiled(folder, cache)
        edits = []
        for _ in range(8):
            edits.append(edit(source, folder, original))
            found = compiled(folder, cache)
            assert found == compiled(folder, None), f"seed {fuzz_seed}, number {number}: {original}, {edits}"
        shutil.rmtree(folder)
        shutil.rmtree(cache, ignore_errors=True)
