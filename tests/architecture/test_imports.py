"""What code imports is there, also where it runs in a process of its own, by `make deep` or `make crash` alone."""

import ast
from textwrap import dedent

from tests.architecture.measures import source_files
from tests.documents import ROOT, code_blocks


def missing(files, pages=()):
    """What is imported, or taken of an imported module, and defined nowhere.

    Args:
        files: The text of each module, by its dotted name.
        pages: The texts of further code.
    """
    known = {name.rsplit(".", depth)[0] for name in files for depth in range(name.count(".") + 1)}
    used = {name for text in pages for name in imported(ast.parse(text), files)}
    for module, text in files.items():
        tree = ast.parse(text)
        known |= {f"{module}.{name}" for name in defined(tree)}
        used |= imported(tree, files)
        # In texts, `jobs` is a folder of a project that a test writes.
        used |= {name for code in texts_of_code(tree) for name in imported(code, files) if not name.startswith("jobs")}
    return {name for name in used if name.partition(".")[0] in known} - known


def defined(tree):
    """The names of a module that are not within its functions and classes."""
    nodes = [tree]
    while nodes:
        match node := nodes.pop():
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                yield node.name
                continue
            case ast.alias():
                yield node.asname or node.name.partition(".")[0]
            case ast.Name(ctx=ast.Store()):
                yield node.id
        nodes += ast.iter_child_nodes(node)


def imported(tree, modules):
    """The modules that code imports, and the names that it imports or takes of them."""
    nodes, found, bound = [*ast.walk(tree)], set(), {}
    for node in nodes:
        match node:
            case ast.ImportFrom(module=str(module), level=0):
                names = {each.asname or each.name: f"{module}.{each.name}" for each in node.names if each.name != "*"}
                bound |= names
                found |= {module, *names.values()}
            case ast.Import():
                found |= {each.name for each in node.names}
                bound |= {each.asname: each.name for each in node.names if each.asname}
                bound |= {top: top for top in (each.name.partition(".")[0] for each in node.names if not each.asname)}
    for node in nodes:  # a name that stands for something else somewhere is looked at nowhere
        match node:
            case ast.arg(arg=name) | ast.Name(id=name, ctx=ast.Store()):
                bound.pop(name, None)
    taken = [(dotted(node.value, bound), node.attr) for node in nodes if isinstance(node, ast.Attribute)]
    return found | {f"{owner}.{name}" for owner, name in taken if owner in modules and not name.startswith("__")}


def dotted(node, bound):
    """The whole name of what is imported or an attribute of it; None for all else."""
    match node:
        case ast.Name(id=name):
            return bound.get(name)
        case ast.Attribute(value=value, attr=name):
            owner = dotted(value, bound)
            return owner and f"{owner}.{name}"
    return None


def texts_of_code(tree):
    """The texts in a module that import, such as those that it gives to another process."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and "import " in node.value:
            try:
                yield ast.parse(dedent(node.value))
            except SyntaxError:
                continue


def test_what_is_imported_or_taken_of_a_module_is_there():
    files = {
        name: text for each in ("sparkassets", "tests", "jobs") for name, text in source_files(ROOT / each).items()
    }
    pages = [path.relative_to(ROOT) for path in (ROOT / "README.md", *ROOT.glob("docs/**/*.md"))]
    assert missing(files, [block.text for page in pages for block in code_blocks(page, "python")]) == set()


def test_names_that_are_gone_are_found_in_imports_attributes_and_texts():
    files = {
        "pack": "import os\n",
        "pack.a": "if True:\n    def f():\n        g = 1\n",
        "pack.b": "from pack.a import f, g\nimport pack.d\nfrom pack import a, os\na.f = a.h\na.f.x\n",
        "pack.c": "import pack.a\npack.a.i()\ncode = '''\n  from pack import j, a\n'''\ndef t(a):\n    a.k()\n",
    }
    assert missing(files) == {"pack.a.g", "pack.d", "pack.a.h", "pack.a.i", "pack.j"}
    assert missing(files | {"pack.b": "", "pack.c": ""}, ["import pack.a as l\nl.m\n"]) == {"pack.a.m"}
