"""What an asset runs: a SQL template or a function, and the assets that it names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Final

from yaml.nodes import ScalarNode

from sparkassets.core.definitions import Definition
from sparkassets.core.events import wrong_in_context
from sparkassets.core.selects import MOST_NESTED, too_deep
from sparkassets.core.spec.document import At, SourceFile
from sparkassets.core.spec.drafts import AssetDraft, ProjectDraft
from sparkassets.core.spec.model import PythonBody, SqlBody
from sparkassets.core.spec.outlets import digests
from sparkassets.core.spec.paths import beside, tidy
from sparkassets.core.spec.rule_maps import rules_of_rows
from sparkassets.core.suggestions import meant_by
from sparkassets.core.templating import Fault, Template, TemplateError
from sparkassets.core.writes import Write
from sparkassets.errors import Location, Problem
from sparkassets.frozen import frozen

CONTEXT: Final = "context"
GIVEN_ARGUMENTS: Final = frozenset({CONTEXT, "spark"})
"""Arguments of a function that are no inlets."""


# --------------------------------------------------------------------------- what must be read


@frozen
class WantedSql:
    """A SQL file: the first of these paths that exists; they are from the project's folder."""

    paths: tuple[str, ...]


@frozen
class WantedModule:
    """A Python module by its dotted name."""

    name: str


def wanted(draft: AssetDraft, project: ProjectDraft) -> WantedSql | WantedModule | None:
    """What must be read before the asset can be compiled; None for sources and for SQL that stands in the YAML."""
    keys = draft.keys
    if keys.source or not draft.sure("source", "sql", "python") or (keys.outlets is not None and not keys.python):
        return None
    if draft.keys.python:
        module, _, _ = draft.keys.python.partition(":")
        return WantedModule(module) if is_allowed(module, project) else None
    if not _is_file(draft.keys.sql):
        return None
    path = _sql_path(draft)
    return WantedSql((path, beside(draft.file.path, path)))


def _is_file(sql: str | None) -> bool:
    return sql is None or sql.strip().endswith(".sql")


def _sql_path(draft: AssetDraft) -> str:
    return tidy(draft.keys.sql) if draft.keys.sql else beside(draft.file.path, f"{draft.name}.sql")


def is_allowed(module: str, project: ProjectDraft) -> bool:
    """Whether the project lets functions come from the module's package."""
    return any(module == package or module.startswith(f"{package}.") for package in project.keys.python)


# --------------------------------------------------------------------------- what was read


@frozen
class Argument:
    """One argument of a function; line and column count from 1.

    Attributes:
        takes: The library whose rows its annotation asks for; None is Spark's.
    """

    name: str
    line: int
    column: int
    collects: bool = False
    takes: str | None = None


@frozen
class Member:
    """What a function asks its ``context`` for; line and column count from 1.

    Attributes:
        path: From ``context`` on; None for an element by its number, or one that is not known.
    """

    path: tuple[str | None, ...]
    line: int
    column: int


@frozen
class Function:
    """A function of a module's top level.

    Attributes:
        asks: What it asks its ``context`` for.
        parts: Digests of what it is made of, by name: of itself, and of what it calls in the project's packages.
        file: That it stands in; None is the module's that it is found by.
    """

    line: int
    column: int
    arguments: tuple[Argument, ...]
    asks: tuple[Member, ...] = ()
    is_async: bool = False
    parts: Mapping[str, str] = field(default_factory=dict)
    file: SourceFile | None = None


@frozen
class Module:
    """A Python module, read from its source; nothing of it was imported.

    Attributes:
        search_path: Absolute folder that must be on ``sys.path`` to import it.
        broken: Line, column and message where it is no Python.
        is_readable: Whether anything is known of it; where not, whoever read it says why.
    """

    file: SourceFile
    search_path: str
    functions: Mapping[str, Function] = field(default_factory=dict)
    broken: tuple[int, int, str] | None = None
    is_readable: bool = True


# --------------------------------------------------------------------------- compiled


@frozen
class Mention:
    """A place outside the YAML's keys that names an asset."""

    file: SourceFile
    line: int
    column: int
    width: int

    @property
    def location(self) -> Location:
        """Where it is."""
        return Location(self.file.label, self.line, self.column)

    def problem(self, message: str, *, hint: str | None = None) -> Problem:
        """A problem there."""
        return self.file.problem(self.line, self.column, message, hint=hint, width=self.width)


@frozen
class SqlText:
    """A template and where it stands: a file of its own, or a value of the YAML."""

    template: Template
    file: SourceFile
    at: At | None = None

    def mention(self, line: int, column: int, width: int) -> Mention:
        """A place of the template, counted from 1, as a place of its file."""
        if self.at:
            node = self.at.document.find(self.at.path)[1]
            if isinstance(node, ScalarNode):
                position = sum(len(each) + 1 for each in self.template.text.split("\n")[: line - 1]) + column - 1
                line, column = self.at.document.place(node, min(position, len(node.value)))
        return Mention(self.file, line, column, width)

    def fault(self, fault: Fault) -> Problem:
        """A template's fault as a problem."""
        return self.mention(fault.line, fault.column, fault.width).problem(fault.message, hint=fault.hint)


@frozen
class Body:
    """What an asset runs.

    Attributes:
        compiled: For the model; None where it is wrong or for a source.
        named: The assets that it names, in order of appearance.
        sql: The template, where it is SQL.
        parts: What its function is made of.
        outlets: Of a multi-asset in SQL, the template of each outlet.
    """

    compiled: SqlBody | PythonBody | None = None
    named: Mapping[str, Mention] = field(default_factory=dict)
    sql: SqlText | None = None
    parts: Mapping[str, str] = field(default_factory=dict)
    outlets: Mapping[str, SqlText] = field(default_factory=dict)

    def definition(self, draft: AssetDraft, write: Write | None) -> Definition | None:
        """What a change of the asset's code, params or write is told by; None for what computes nothing."""
        if self.compiled is None and not self.outlets:
            return None
        sql, values = self.sql.template.text if self.sql is not None else "", draft.at.document.variables
        selects = {name: each.template.text for name, each in self.outlets.items()}
        code = {**self.parts, **digests(selects, variables=values)} if selects else self.parts
        given = draft.keys.params
        params = given if isinstance(given, dict) else {str(number): each for number, each in enumerate(given)}
        options = {**(write.parts() if write is not None else {}), **rules_of_rows(draft.keys)}
        return Definition.of(sql=sql, code=code, params=params, options=options, variables=values)


def compile_body(
    draft: AssetDraft,
    project: ProjectDraft,
    *,
    sql: Mapping[str, SourceFile | None],
    modules: Mapping[str, Module],
    declared: Function | None = None,
) -> Body:
    """What the asset runs; what is wrong becomes problems of the draft.

    Args:
        draft: The asset.
        project: Says which packages functions may come from.
        sql: The SQL files that exist, by their path from the project's folder; None where whoever read one says why
            it cannot be read.
        modules: The modules that exist, by name.
        declared: The function that declares the asset.
    """
    keys = draft.keys
    if keys.source or not draft.sure("source", "sql", "python"):
        return Body()
    if draft.maker and keys.python is not None:
        if keys.sql is not None:
            hint = f"leave it out, or 'python' of asset {draft.maker!r}"
            (draft.at / "sql").key_problem(f"outlet {draft.name!r} cannot have 'sql': a function makes it", hint=hint)
        return Body()
    if keys.outlets is not None and keys.python is None:
        return Body()  # its outlets have the SQL
    if keys.sql is not None and keys.python is not None:
        (draft.at / "python").key_problem("an asset runs either 'sql' or 'python', not both")
        return Body()
    if keys.python is not None:
        return _python(draft, keys.python, project, modules, declared)
    if keys.sql is not None and not _is_file(keys.sql):
        return _sql(draft, keys.sql, draft.file, draft.at / "sql")
    path = _sql_path(draft)
    if file := sql.get(path):
        return _sql(draft, file.text, file, None)
    if path not in sql and not (draft.writes_itself and keys.sql is None):  # else its job runs elsewhere
        _report_missing_sql(draft, path, sql)
    return Body()


def _report_missing_sql(draft: AssetDraft, path: str, sql: Mapping[str, SourceFile | None]) -> None:
    near = beside(draft.file.path, path)
    if draft.keys.sql is None and draft.maker:
        message = f"outlet {draft.name!r} has no 'sql', asset {draft.maker!r} no 'python', and there is no file {path}"
        draft.at.key_problem(message, hint=f"write its SELECT to {path}")
    elif draft.keys.sql is None:
        message = f"asset {draft.name!r} has neither 'sql' nor 'python', and there is no file {path}"
        (draft.at / "asset").problem(message, hint=f"write its SELECT to {path}")
    else:
        hint = f"did you mean {near!r}? paths are from the project's folder" if near in sql else None
        (draft.at / "sql").problem(f"there is no file {path!r} in the project's folder", hint=hint)


def _sql(draft: AssetDraft, text: str, file: SourceFile, at: At | None) -> Body:
    problems = draft.at.document.problems
    try:
        template = Template.parse(text)
    except TemplateError as error:
        problems.append(SqlText(Template.parse(""), file, at).fault(error.fault))
        return Body()
    sql = SqlText(template, file, at)
    if (deep := too_deep(text)) is not None:
        before = text[:deep]
        place = sql.mention(before.count("\n") + 1, deep - before.rfind("\n"), 1)
        problems.append(place.problem(f"a query has at most {MOST_NESTED:,} brackets inside each other"))
        return Body()
    named = {name: sql.mention(line, column, len(name)) for name, (line, column) in template.inlets.items()}
    return Body(SqlBody(text, sql.mention(1, 1, 1).location), named, sql)


def _python(
    draft: AssetDraft,
    written: str,
    project: ProjectDraft,
    modules: Mapping[str, Module],
    declared: Function | None,
) -> Body:
    found = find_function(draft.at / "python", written, project, modules, declared=declared)
    if found is None:
        return Body()
    name, _, function_name = written.partition(":")
    return _function(draft, name, function_name, *found)


def compile_function(at: At, written: str, project: ProjectDraft, modules: Mapping[str, Module]) -> PythonBody | None:
    """A function that is no asset's, written as ``package.module:function``; what is wrong becomes a problem."""
    found = find_function(at, written, project, modules)
    if found is None:
        return None
    module, function = found
    name, _, function_name = written.partition(":")
    file = function.file or module.file
    return PythonBody(
        module=name,
        function=function_name,
        arguments=tuple(argument.name for argument in function.arguments),
        search_path=module.search_path,
        location=Location(file.label, function.line, function.column),
    )


def find_function(
    at: At, written: str, project: ProjectDraft, modules: Mapping[str, Module], *, declared: Function | None = None
) -> tuple[Module, Function] | None:
    """The function that a text names, ``package.module:function``; None where what is wrong became a problem.

    Args:
        at: Where the text stands.
        written: The text.
        project: Says which packages functions may come from.
        modules: The modules that exist, by name.
        declared: The function, where that is known.
    """
    name, _, function_name = written.partition(":")
    if not is_allowed(name, project):
        package = name.partition(".")[0]
        hint = meant_by(package, project.keys.python) or f"add {package!r} to 'python' in the project file"
        at.text_problem(
            0,
            f"the package {package!r} is not allowed: 'python' in the project file lacks it",
            width=len(name),
            hint=hint,
        )
        return None
    module = modules.get(name)
    if module is None:
        path = name.replace(".", "/")
        message = f"there is no module {name!r}: neither {path}.py nor {path}/__init__.py"
        at.text_problem(0, message, width=len(name), hint="it must be in the project's folder or beside that folder")
        return None
    if not module.is_readable:
        return None
    if module.broken:
        line, column, message = module.broken
        at.document.problems.append(module.file.problem(line, column, f"this is not Python: {message}"))
        return None
    function = declared or module.functions.get(function_name)
    if function is None or function.is_async:
        what = "has no function" if function is None else "must not declare as 'async' the function"
        hint = meant_by(function_name, module.functions) or "it must be a 'def' at the module's top level"
        message = f"the module {name!r} {what} {function_name!r}"
        at.text_problem(len(name) + 1, message, width=len(function_name), hint=hint if function is None else None)
        return None
    return module, function


def _function(draft: AssetDraft, module_name: str, name: str, module: Module, function: Function) -> Body:
    named: dict[str, Mention] = {}
    file = function.file or module.file
    for argument in function.arguments:
        mention = Mention(file, argument.line, argument.column, len(argument.name))
        if argument.collects:
            message = f"the argument '*{argument.name}' of {name!r} names no inlet; expected the inlets one by one"
            draft.at.document.problems.append(mention.problem(message))
        elif argument.name not in GIVEN_ARGUMENTS:
            named[argument.name] = mention
    for asked in function.asks:
        wrong = wrong_in_context(asked.path)
        if wrong and wrong[0] == len(asked.path) - 1:
            at, message, hint = wrong
            word = Mention(file, asked.line, asked.column, len(asked.path[at] or ""))
            draft.at.document.problems.append(word.problem(message, hint=hint))
    compiled = PythonBody(
        module=module_name,
        function=name,
        arguments=tuple(argument.name for argument in function.arguments),
        takes={argument.name: argument.takes for argument in function.arguments if argument.takes is not None},
        search_path=module.search_path,
        location=Location(file.label, function.line, function.column),
    )
    return Body(compiled, named, parts=function.parts)
