"""Measures of the source that a redesign is judged by: ``python -m tests.architecture.measures [PACKAGE_FOLDER]``.

Prints one figure a line: sizes, names, circles of imports (also of those for types alone), and what a command loads.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from radon.complexity import cc_visit
from radon.visitors import Function

IRREGULAR = frozenset(
    {
        *("told", "said", "made", "kept", "found", "known", "gone", "left", "shown", "drawn", "given", "held", "run"),
        *("read", "written", "meant", "split", "cut", "come", "came"),
    }
)
PARTICLES = frozenset(
    {
        *(
            "after",
            "among",
            "as",
            "at",
            "before",
            "beside",
            "by",
            "for",
            "from",
            "in",
            "into",
            "of",
            "off",
            "on",
            "out",
        ),
        *("over", "since", "to", "under", "until", "up", "upon", "with"),
    }
)
MOST_COMPLEX = 10
FEATURES = {
    "branches": (
        r"branch(es)?|promot[a-z]*",
        ("features.branches", "cli.commands.diff", "cli.commands.promote", "cli.commands.drop", "cli.commands.ci"),
        ("core.derivation", "core.spec.shape_checks", "delta.file_statistics"),
    ),
    "iterations": (
        r"(?<!stop_)iterations?",
        (
            *("core.iterations", "core.journal.fold.iterations", "core.planner.batch.iterations"),
            *("core.documents.iterations", "runtime.iterations", "spark.iterations", "cli.commands.iterations"),
        ),
        (),
    ),
    "marks": (
        r"marks|mark_(entry|kind|request|result|document)|(partition|instance|skip)_marks?|marked_ticks",
        (
            *("core.journal.marks", "core.journal.fold.marks", "core.planner.due.instance_marks"),
            *("core.planner.explain.partition_marks", "cli.commands.mark"),
        ),
        ("core.partitions", "core.derivation", "core.spec", "deploy", "project", "spark"),
    ),
    "withheld": (
        r"withh[a-z]*",
        (
            *("core.validations", "core.journal.withheld_records", "core.journal.fold.unpublished_partitions"),
            *("core.planner.due.withheld_partitions", "cli.commands.accept"),
        ),
        (),
    ),
    "runtime segments": (
        r"(known|unlisted|new|added|open)_segments",
        ("core.journal.known_segments", "core.journal.fold.segments", "core.spec.unlisted_segments"),
        (),
    ),
    "aligned inlets": (
        r"align(ed|ment)?(_(inlets?|instance|group|runs|due_runs|crons))?",
        (
            *("core.journal.fold.aligned_instances", "core.planner.gates.aligned_inlets"),
            *("core.planner.gates.aligned_runs", "cli.commands.align"),
        ),
        ("cli", "core.partitions"),
    ),
    "lateness": (
        r"late|lateness",
        ("core.planner.explain.lateness",),
        (
            *("core.partitions", "spark", "cli.app", "cli.progress", "runtime.attempt_threads", "emit.traces"),
            *("core.journal.fold.segments", "core.journal.fold.specs"),
        ),
    ),
    "budgets": (r"budgets?", ("core.planner.batch.budgets",), ("runtime.execution", "runtime.outcomes")),
    "early cutoff": (r"unchanged", ("spark.targets.unchanged_partitions",), ("cli.commands.deploy", "deploy")),
    "outlets": (r"outlets?", ("core.spec.outlets", "core.journal.fold.outlets"), ()),
}
"""By feature: the words of an identifier that name it, its own modules, and those where they name something else.

Words of comments and texts do not count.
"""


def names(tree: ast.AST) -> Iterator[tuple[str, str]]:
    """Every function and class of a module, as (kind, name)."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and not node.name.startswith("__"):
            yield "function", node.name.strip("_")
        elif isinstance(node, ast.ClassDef):
            yield "class", node.name.strip("_")


def is_bare_participle(name: str) -> bool:
    """Whether a function's whole name is one participle, such as ``told`` or ``planned``."""
    words = [word for word in name.lower().split("_") if word]
    return len(words) == 1 and (words[0].endswith("ed") or words[0] in IRREGULAR)


def is_one_word(name: str) -> bool:
    """Whether the name of a class is one word."""
    return len(re.findall(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z0-9]+|[A-Z]+", name)) == 1


def imports(package: Path, files: Mapping[str, str]) -> dict[str, set[str]]:
    """The modules of the package that each module imports, also inside functions and for types alone."""
    found: dict[str, set[str]] = defaultdict(set)
    for name, text in files.items():
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(package.name):
                targets = {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
                found[name] |= {each for each in targets if each in files and each != name}
    return found


def circles(graph: Mapping[str, set[str]]) -> list[set[str]]:
    """Modules that import each other, directly or not, in groups: strongly connected parts, by Kosaraju."""
    reverse: dict[str, set[str]] = defaultdict(set)
    for name, others in graph.items():
        for each in others:
            reverse[each].add(name)
    order = [name for group in walked(graph, list(graph)) for name in group]
    groups = walked(reverse, order[::-1])
    return [set(group) for group in groups if len(group) > 1]


def walked(edges: Mapping[str, set[str]], starts: Sequence[str]) -> list[list[str]]:
    """From each start what is reached for the first time, in the order in which it was left."""
    seen: set[str] = set()
    groups = []
    for start in starts:
        group: list[str] = []
        stack = [(start, iter(edges.get(start, ())))] if start not in seen else []
        seen.add(start)
        while stack:
            found = next((each for each in stack[-1][1] if each not in seen), None)
            if found is None:
                group.append(stack.pop()[0])
            else:
                seen.add(found)
                stack.append((found, iter(edges.get(found, ()))))
        groups.append(group)
    return groups


def identifiers(tree: ast.AST) -> Iterator[str]:
    """Every name of a module's code: of variables, attributes, arguments, keywords, definitions and imports."""
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name) | ast.Attribute(attr=name) | ast.arg(arg=name) | ast.keyword(arg=str(name)):
                yield name
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name) | ast.MatchAs(name=str(name)):
                yield name
            case ast.alias(name=name):
                yield name.rpartition(".")[2]
            case ast.ImportFrom(module=str(name)):
                yield from name.split(".")


def snake(name: str) -> str:
    """The words of an identifier in lower case with ``_`` between them."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name).lower().strip("_")


def mentions(files: Mapping[str, str], feature: str) -> set[str]:
    """The modules outside of a feature's own whose code has identifiers of the feature."""
    words, own, homonyms = FEATURES[feature]
    pattern = re.compile(rf"(^|_)({words})($|_)")
    others = {name.partition(".")[2]: text for name, text in files.items()}
    return {
        name
        for name, text in others.items()
        if not any(f"{name}.".startswith(f"{each}.") for each in (*own, *homonyms))
        and any(pattern.search(snake(each)) for each in identifiers(ast.parse(text)))
    }


def loaded_by(command: str) -> int:
    """How many modules of the package a command loads, in a process of its own, once the project is compiled."""
    code = (
        "import sys\nfrom sparkassets.cli import main\n"
        f"try:\n    main({command.split()!r})\nexcept SystemExit:\n    pass\n"
        "print(sum(name.startswith('sparkassets') for name in sys.modules), file=sys.stderr)"
    )
    for _ in range(2):
        ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return int(ended.stderr.split()[-1])


def source_files(package: Path) -> dict[str, str]:
    """The text of each module, by its dotted name."""
    paths = sorted(package.rglob("*.py"))
    dotted = {path: ".".join(path.relative_to(package.parent).with_suffix("").parts) for path in paths}
    return {name.removesuffix(".__init__"): path.read_text(encoding="utf-8") for path, name in dotted.items()}


def measures(package: Path) -> Iterator[tuple[str, float]]:
    """The figures of a package, by name."""
    files = source_files(package)
    lines = [text.count("\n") for text in files.values()]
    found = [(kind, name, module) for module, text in files.items() for kind, name in names(ast.parse(text))]
    functions = [name for kind, name, _ in found if kind == "function"]
    classes: dict[str, set[str]] = defaultdict(set)
    for kind, name, module in found:
        if kind == "class":
            classes[name].add(module)
    blocks = [block for text in files.values() for block in cc_visit(text)]
    every = [each for block in blocks for each in (block, *getattr(block, "methods", ())) if isinstance(each, Function)]
    yield "modules", len(files)
    yield "lines", sum(lines)
    yield "longest module", max(lines)
    yield "functions", len(functions)
    yield "functions above complexity 10, %", share(sum(each.complexity > MOST_COMPLEX for each in every), len(every))
    yield "bare participles, %", share(sum(map(is_bare_participle, functions)), len(functions))
    yield "one-word classes, %", share(sum(map(is_one_word, classes)), len(classes))
    yield "class names in two modules", sum(len(modules) > 1 for modules in classes.values())
    groups = circles(imports(package, files))
    yield "circles of imports", len(groups)
    yield "modules in circles", sum(map(len, groups))


def share(part: int, whole: int) -> float:
    """Percent, to a tenth."""
    return round(100 * part / max(1, whole), 1)


def main() -> None:
    package = Path(sys.argv[1] if len(sys.argv) > 1 else "sparkassets").resolve()
    for name, figure in measures(package):
        print(f"{name:36} {figure:>10}")
    if package.name == "sparkassets":
        files = source_files(package)
        for feature in FEATURES:
            print(f"{f'modules that mention {feature}':36} {len(mentions(files, feature)):>10}")
        print(f"{'modules loaded by plan':36} {loaded_by('plan'):>10}")


if __name__ == "__main__":
    main()
