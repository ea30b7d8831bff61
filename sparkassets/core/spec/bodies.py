"""The body of an asset: its SQL template or function, and the assets that it names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Final

from yaml.nodes import ScalarNode

from sparkassets.core.definitions import AssetDefinition
from sparkassets.core.definitions.definition import digest
from sparkassets.core.events import wrong_in_context
from sparkassets.core.outline_memo import OutlineMemo
from sparkassets.core.query_outline import QueryOutline, TemplateError
from sparkassets.core.query_text import MOST_NESTED, find_excess_nesting
from sparkassets.core.redaction import redact
from sparkassets.core.spec.code_bodies import PythonBody, SqlBody
from sparkassets.core.spec.drafts import AssetDraft, ProjectDraft, normalize_path, sibling_path
from sparkassets.core.spec.macros import MacroLibrary, MacroPrefix
from sparkassets.core.spec.module_source import ModuleFunction, ModuleSource
from sparkassets.core.spec.rule_maps import row_removing_rule_maps
from sparkassets.core.spec.yaml_document import DocumentPlace, SourceFile
from sparkassets.core.suggestions import suggest_close
from sparkassets.core.writes import WriteMode
from sparkassets.errors import FileLocation, SpecProblem, TextFault
from sparkassets.frozen import frozen

CONTEXT: Final = "context"
GIVEN_ARGUMENTS: Final = frozenset({CONTEXT, "spark"})
"""Arguments of a function that are no inlets."""


# --------------------------------------------------------------------------- what must be read


@frozen
class WantedSql:
    """The SQL file of an asset: the first of these paths, from the project's folder, that exists."""

    paths: tuple[str, ...]


@frozen
class WantedModule:
    """A Python module by its dotted name."""

    name: str


def find_required_code(draft: AssetDraft, project: ProjectDraft) -> WantedSql | WantedModule | None:
    """The SQL file or module to read before the asset is compiled.

    None if there is nothing to read: a source, SQL in the YAML, or keys that are wrong.
    """
    keys = draft.keys
    if (
        keys.source
        or not draft.are_reliable("source", "sql", "python")
        or (keys.outlets is not None and not keys.python)
    ):
        return None
    if draft.keys.python:
        module, _, _ = draft.keys.python.partition(":")
        return WantedModule(module) if is_allowed(module, project) else None
    if not _names_file(draft.keys.sql):
        return None
    path = _sql_path(draft)
    return WantedSql((path, sibling_path(draft.file.path, path)))


def _names_file(sql: str | None) -> bool:
    """Whether ``sql`` is a path and not a query; without it, the file beside the YAML is meant."""
    return sql is None or sql.strip().endswith(".sql")


def _sql_path(draft: AssetDraft) -> str:
    """The path of the asset's SQL file: as written, else the asset's name beside its YAML file."""
    return normalize_path(draft.keys.sql) if draft.keys.sql else sibling_path(draft.file.path, f"{draft.name}.sql")


def is_allowed(module: str, project: ProjectDraft) -> bool:
    """Whether the project lets functions come from the module's package."""
    return any(module == package or module.startswith(f"{package}.") for package in project.keys.python)


@frozen
class AssetCode:
    """The existing code that assets need, read before they are compiled.

    Attributes:
        sql: SQL files by their path from the project's folder; None for one that cannot be read.
        modules: Python modules by name.
        declared: Functions that declare assets in Python, by asset.
        macros: What SQL may use.
    """

    sql: Mapping[str, SourceFile | None]
    modules: Mapping[str, ModuleSource]
    declared: Mapping[str, ModuleFunction] = field(default_factory=dict)
    macros: MacroLibrary = field(default_factory=MacroLibrary)


@frozen
class AssetMention:
    """A place in code that names an asset."""

    file: SourceFile
    line: int
    column: int
    width: int

    @property
    def location(self) -> FileLocation:
        """The place, for messages."""
        return FileLocation(self.file.label, self.line, self.column)

    def problem(self, message: str, *, hint: str | None = None) -> SpecProblem:
        """A problem at this place."""
        return self.file.problem(self.line, self.column, message, hint=hint, width=self.width)


@frozen
class SqlText:
    """A template, and where it stands: in a file of its own, or (``at``) as a value of the YAML."""

    text: str
    outline: QueryOutline
    file: SourceFile
    at: DocumentPlace | None = None
    macros: MacroPrefix = MacroPrefix()

    def mention(self, line: int, column: int, width: int) -> AssetMention:
        """The place in its file of a place in the template, both counted from 1; its start for one in a macro."""
        if line < 1:
            line, column = 1, 1
        if self.at:
            node = self.at.document.find(self.at.path)[1]
            if isinstance(node, ScalarNode):
                position = sum(len(each) + 1 for each in self.text.split("\n")[: line - 1]) + column - 1
                line, column = self.at.document.place(node, min(position, len(node.value)))
        return AssetMention(self.file, line, column, width)

    def shown_form(self, variables: Mapping[str, str]) -> str:
        """Its normal form without credentials and values of variables."""
        form = self.outline.normal_form
        return redact(form, variables=variables) if variables or self.outline.has_credentials else form

    def fault(self, fault: TextFault) -> SpecProblem:
        """The template's fault as a problem of its file, or of that of a macro."""
        if fault.line < 1 and self.macros.macros:
            return self.macros.problem(fault)
        return self.mention(fault.line, fault.column, fault.width).problem(fault.message, hint=fault.hint)


@frozen
class AssetBody:
    """The code that an asset runs, with the places that its messages need.

    Attributes:
        compiled: The body for the model; None for a source, and where it is wrong.
        mentions: The assets that it names, in order of appearance.
        sql: The template; None for a function.
        parts: Digests of its function and of all that this calls in the project's packages, by name.
        outlets: For a multi-asset in SQL, the template of each outlet.
    """

    compiled: SqlBody | PythonBody | None = None
    mentions: Mapping[str, AssetMention] = field(default_factory=dict)
    sql: SqlText | None = None
    parts: Mapping[str, str] = field(default_factory=dict)
    outlets: Mapping[str, SqlText] = field(default_factory=dict)

    def definition(self, draft: AssetDraft, write: WriteMode | None) -> AssetDefinition | None:
        """The definition, by which changes of code, params or write are detected; None if nothing is computed.

        Validations count as far as they take rows away: they decide which rows come out.
        """
        if self.compiled is None and not self.outlets:
            return None
        values = draft.at.document.variables
        text = self.sql.shown_form(values) if self.sql is not None else ""
        selects = {f"outlet {name}": digest(each.shown_form(values)) for name, each in self.outlets.items()}
        code = {**self.parts, **selects}
        for sql in filter(None, [self.sql, *self.outlets.values()]):
            code |= sql.macros.parts
        params = draft.keys.params
        if not isinstance(params, dict):
            params = {str(number): each for number, each in enumerate(params)}
        options = {**(write.parts() if write is not None else {}), **row_removing_rule_maps(draft.keys)}
        return AssetDefinition.build(text=text, code=code, params=params, options=options, variables=values)


def compile_body(draft: AssetDraft, project: ProjectDraft, code: AssetCode, outlines: OutlineMemo) -> AssetBody:
    """Compiles the code that the asset runs; mistakes become problems of the draft.

    Empty for a source, for a multi-asset whose outlets have the SQL, and for an outlet that a function makes.

    Args:
        draft: The asset.
        project: Says which packages functions may come from.
        code: The code of all assets; SQL files that cannot be read have been reported by whoever read them.
        outlines: Those of SQL texts.
    """
    keys = draft.keys
    if keys.source or not draft.are_reliable("source", "sql", "python"):
        return AssetBody()
    if draft.written_by and keys.python is not None:
        if keys.sql is not None:
            hint = f"leave it out, or leave out 'python' of asset {draft.written_by!r}"
            (draft.at / "sql").add_key_problem(
                f"outlet {draft.name!r} cannot have 'sql': a function computes its rows", hint=hint
            )
        return AssetBody()
    if keys.outlets is not None and keys.python is None:
        return AssetBody()  # its outlets have the SQL
    if keys.python is None:
        return _compile_sql(draft, code, outlines)
    if keys.sql is not None:
        (draft.at / "python").add_key_problem("'sql' and 'python' exclude each other")
        return AssetBody()
    return _compile_python(draft, keys.python, project, code.modules, code.declared.get(draft.name))


def _compile_sql(draft: AssetDraft, code: AssetCode, outlines: OutlineMemo) -> AssetBody:
    """The body of an asset in SQL, from the YAML or its file; empty if the file is missing or cannot be read."""
    written, files = draft.keys.sql, code.sql
    if written is not None and not _names_file(written):
        return _compile_template(draft, SqlText(written, QueryOutline(), draft.file, draft.at / "sql"), code, outlines)
    path = _sql_path(draft)
    if file := files.get(path):
        return _compile_template(draft, SqlText(file.text, QueryOutline(), file), code, outlines)
    if path not in files and not (draft.writes_itself and written is None):  # else its job runs elsewhere
        _report_missing_sql(draft, path, files)
    return AssetBody()


def _report_missing_sql(draft: AssetDraft, path: str, sql: Mapping[str, SourceFile | None]) -> None:
    """Adds the problem that the file ``path`` does not exist; at its key, or at the asset if no key names a file."""
    sibling = sibling_path(draft.file.path, path)
    if draft.keys.sql is None and draft.written_by:
        message = (
            f"outlet {draft.name!r} has no 'sql' and no file {path}, and asset {draft.written_by!r} has no 'python'"
        )
        draft.at.add_key_problem(message, hint=f"write its SELECT to {path}")
    elif draft.keys.sql is None:
        message = f"asset {draft.name!r} has neither 'sql' nor 'python', and the file {path} does not exist"
        (draft.at / "asset").add_problem(message, hint=f"write its SELECT to {path}")
    else:
        hint = f"did you mean {sibling!r}? paths are relative to the project's folder" if sibling in sql else None
        (draft.at / "sql").add_problem(f"the file {path!r} does not exist in the project's folder", hint=hint)


def _compile_template(draft: AssetDraft, sql: SqlText, code: AssetCode, outlines: OutlineMemo) -> AssetBody:
    """The body of an asset in SQL, with the place of each inlet that the template names.

    A template that cannot be parsed, or is nested too deep for Spark's parser, becomes a problem of the draft, and the
    body is empty. The outline of ``sql`` is read here.
    """
    problems, text = draft.at.document.problems, sql.text
    try:
        macros = code.macros.find_prefix(text)
        # a text of the YAML may hold values of variables, which must not be stored with its outline
        is_stored = sql.at is None or not draft.at.document.variables
        outline = outlines.find_outline(text, macros.text, is_stored=is_stored)
    except TemplateError as error:
        problems.append(sql.fault(error.fault))
        return AssetBody()
    sql = SqlText(text, outline, sql.file, sql.at, macros)
    if (excess_position := find_excess_nesting(text)) is not None:
        before = text[:excess_position]
        place = sql.mention(before.count("\n") + 1, excess_position - before.rfind("\n"), 1)
        problems.append(place.problem(f"the query nests more than {MOST_NESTED:,} brackets"))
        return AssetBody()
    mentions = {name: sql.mention(line, column, len(name)) for name, (line, column) in outline.inlets.items()}
    return AssetBody(SqlBody(text, sql.mention(1, 1, 1).location, macros.text), mentions, sql)


def _compile_python(
    draft: AssetDraft,
    written: str,
    project: ProjectDraft,
    modules: Mapping[str, ModuleSource],
    declared: ModuleFunction | None,
) -> AssetBody:
    """The body of the function that ``python`` names; empty where finding it failed, which is a problem already."""
    source = find_function(draft.at / "python", written, project, modules, declared=declared)
    if source is None:
        return AssetBody()
    name, _, function_name = written.partition(":")
    return _compile_function_body(draft, name, function_name, *source)


def compile_function(
    at: DocumentPlace, written: str, project: ProjectDraft, modules: Mapping[str, ModuleSource]
) -> PythonBody | None:
    """A function that is no asset's, written as ``package.module:function``; what is wrong becomes a problem."""
    source = find_function(at, written, project, modules)
    if source is None:
        return None
    module, function = source
    name, _, function_name = written.partition(":")
    file = function.file or module.file
    return PythonBody(
        module=name,
        function=function_name,
        arguments=tuple(argument.name for argument in function.arguments),
        search_path=module.search_path,
        location=FileLocation(file.label, function.line, function.column),
    )


def find_function(
    at: DocumentPlace,
    written: str,
    project: ProjectDraft,
    modules: Mapping[str, ModuleSource],
    *,
    declared: ModuleFunction | None = None,
) -> tuple[ModuleSource, ModuleFunction] | None:
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
        hint = suggest_close(package, project.keys.python) or f"add {package!r} to 'python' in the project file"
        message = f"the package {package!r} is not allowed: it is not listed under 'python' in the project file"
        at.add_text_problem(0, message, width=len(name), hint=hint)
        return None
    module = modules.get(name)
    if module is None:
        path = name.replace(".", "/")
        message = f"module {name!r} not found: neither {path}.py nor {path}/__init__.py exists"
        hint = "it must be inside the project's folder or beside it"
        at.add_text_problem(0, message, width=len(name), hint=hint)
        return None
    if not module.is_readable:
        return None
    if module.syntax_fault:
        line, column, message = module.syntax_fault
        at.document.problems.append(module.file.problem(line, column, f"invalid Python: {message}"))
        return None
    function = declared or module.functions.get(function_name)
    if function is None or function.is_async:
        fault = "has no function" if function is None else "must not declare as 'async' the function"
        hint = suggest_close(function_name, module.functions) or "it must be a 'def' at the module's top level"
        message = f"the module {name!r} {fault} {function_name!r}"
        at.add_text_problem(len(name) + 1, message, width=len(function_name), hint=hint if function is None else None)
        return None
    return module, function


def _compile_function_body(
    draft: AssetDraft, module_name: str, name: str, module: ModuleSource, function: ModuleFunction
) -> AssetBody:
    """The body of an asset in Python: each argument that the runtime does not fill itself names an inlet.

    Problems of the draft are ``*args``, which names no inlet, and attributes that a run's context does not have.
    """
    mentions: dict[str, AssetMention] = {}
    file = function.file or module.file
    for argument in function.arguments:
        mention = AssetMention(file, argument.line, argument.column, len(argument.name))
        if argument.collects:
            message = (
                f"the argument '*{argument.name}' of {name!r} does not name an inlet; name each inlet as an argument"
            )
            draft.at.document.problems.append(mention.problem(message))
        elif argument.name not in GIVEN_ARGUMENTS:
            mentions[argument.name] = mention
    for access in function.context_accesses:
        fault = wrong_in_context(access.path)
        if fault and fault[0] == len(access.path) - 1:
            index, message, hint = fault
            word = AssetMention(file, access.line, access.column, len(access.path[index] or ""))
            draft.at.document.problems.append(word.problem(message, hint=hint))
    compiled = PythonBody(
        module=module_name,
        function=name,
        arguments=tuple(argument.name for argument in function.arguments),
        takes={
            argument.name: argument.row_library for argument in function.arguments if argument.row_library is not None
        },
        search_path=module.search_path,
        location=FileLocation(file.label, function.line, function.column),
    )
    return AssetBody(compiled, mentions, parts=function.parts)


def join_bodies(bodies: Mapping[str, AssetBody]) -> AssetBody:
    """The body of a multi-asset whose outlets have a SELECT each, by their names."""
    # reversed, so that the mention in the first outlet holds
    mentions = {name: mention for body in reversed([*bodies.values()]) for name, mention in body.mentions.items()}
    return AssetBody(
        mentions=mentions, outlets={name: body.sql for name, body in bodies.items() if body.sql is not None}
    )
