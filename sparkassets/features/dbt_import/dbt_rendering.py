"""Renders the Jinja of a dbt project in a sandbox, without dbt and without a database."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any, Final, NoReturn

import sqlglot
from jinja2 import StrictUndefined, TemplateError
from jinja2.sandbox import SandboxedEnvironment
from sqlglot.errors import SqlglotError

from sparkassets.features.dbt_import.dbt_nodes import DbtMacro
from sparkassets.frozen import frozen

RELATION: Final = "sparkassets_relation_"
"""Stands in rendered SQL for a relation, before its number among those that were referred to."""
OWN_RELATION: Final = "sparkassets_this"
_TAGS: Final = re.compile(r"\{%-?\s*(?:end)?(?:snapshot|docs|test|materialization)\b.*?%\}", re.DOTALL)
_MACRO_BLOCK: Final = re.compile(r"\{%-?\s*macro\s+(\w+)\s*\(.*?\{%-?\s*endmacro\s*-?%\}", re.DOTALL)


class NotRenderableError(Exception):
    """A template needs what only dbt or its database has."""


class _MacroReturnError(Exception):
    """Carries what a macro returns by ``return``."""

    def __init__(self, value: object) -> None:
        super().__init__()
        self.value = value


@frozen
class RenderedText:
    """What a template yields.

    Attributes:
        text: With `RELATION` and `OWN_RELATION` in the place of tables.
        references: The relations by their numbers: ``("ref", "orders")``, ``("source", "shop.orders")``.
        config: What the template configures.
        is_conditional: Whether it asked whether it runs incrementally.
    """

    text: str
    references: Sequence[tuple[str, str]]
    config: Mapping[str, Any]
    is_conditional: bool


def split_macros(package: str, text: str) -> list[DbtMacro]:
    """The macros of a file, each with the text of its definition."""
    return [DbtMacro(package, match[1], match[0]) for match in _MACRO_BLOCK.finditer(text)]


class DbtRenderer:
    """Renders the templates of one project.

    Args:
        package: The project's own name.
        variables: Values of ``var``.
        macros: Macros of the project and of its packages.
        dialect: The SQL that is rendered.
        documents: Texts of ``doc``.
    """

    def __init__(
        self,
        package: str,
        variables: Mapping[str, Any],
        macros: Sequence[DbtMacro],
        *,
        dialect: str,
        documents: Mapping[str, str],
    ) -> None:
        self._package = package
        self._variables = variables
        self._macros = macros
        self._dialect = dialect
        self._documents = documents
        self._modules: dict[tuple[str, str], Any] = {}
        self._start(is_incremental=False, config={})

    def render(
        self, text: str, *, is_incremental: bool = False, config: Mapping[str, Any] | None = None
    ) -> RenderedText:
        """The text as dbt compiles it, but for its relations.

        Args:
            text: A template.
            is_incremental: What ``is_incremental()`` says.
            config: Configuration from elsewhere, for ``config.get``.

        Raises:
            NotRenderableError: It needs dbt or its database, or is no template.
        """
        self._start(is_incremental=is_incremental, config=config or {})
        try:
            rendered = self._environment.from_string(_TAGS.sub("", text)).render()
        except NotRenderableError:
            raise
        except _MacroReturnError as error:
            rendered = str(error.value)  # `return` outside of a macro ends the template
        except (
            TemplateError,
            SqlglotError,
            ArithmeticError,
            AttributeError,
            LookupError,
            TypeError,
            ValueError,
        ) as error:
            raise NotRenderableError(f"its Jinja cannot be rendered: {_describe_failure(error, text)}") from error
        return RenderedText(rendered, tuple(self._references), dict(self._config), self._is_conditional)

    def _start(self, *, is_incremental: bool, config: Mapping[str, Any]) -> None:
        """Forgets what the template before has configured, asked and referred to."""
        self._incremental = is_incremental
        self._given = config
        self._config: dict[str, Any] = {}
        self._references: list[tuple[str, str]] = []
        self._is_conditional = False

    @cached_property
    def _environment(self) -> SandboxedEnvironment:
        """What templates can call: the functions of dbt that need no database, and the macros by package.

        Macros of the project itself are also known by their bare names.
        """
        environment = SandboxedEnvironment(
            undefined=StrictUndefined, autoescape=False, extensions=["jinja2.ext.do", "jinja2.ext.loopcontrols"]
        )
        environment.filters |= dict.fromkeys(("as_text", "as_bool", "as_native", "as_number"), lambda value: value)
        environment.globals |= {
            "adapter": {"dispatch": self._dispatch},
            "config": _ConfigCall(self._configure, self._look_up),
            "doc": lambda *names: self._documents.get(names[-1], ""),
            "env_var": _read_variable,
            "exceptions": {"raise_compiler_error": _fail, "warn": lambda *_: ""},
            "execute": True,
            "flags": {"FULL_REFRESH": False},
            "is_incremental": self._say_incremental,
            "log": lambda *_, **__: "",
            "ref": self._refer,
            "return": _return,
            "source": lambda group, table: self._add_reference("source", f"{group}.{table}"),
            "target": {"name": "default", "schema": "", "database": "", "type": self._dialect, "profile_name": ""},
            "this": OWN_RELATION,
            "tojson": json.dumps,
            "var": self._read_variable,
            "zip": lambda *lists: list(zip(*lists, strict=False)),
        }
        environment.globals |= {name: _need_database(name) for name in ("load_result", "run_query", "statement")}
        packages: dict[str, dict[str, Any]] = {}
        for macro in self._macros:
            packages.setdefault(macro.package, {})[macro.name] = self._call_macro(macro)
        environment.globals |= packages.get(self._package, {})
        packages["dbt"] = {**_database_functions(self._dialect), **packages.get("dbt", {})}
        environment.globals |= packages
        return environment

    def _call_macro(self, macro: DbtMacro) -> Callable[..., Any]:
        """A function that calls the macro, which is compiled when it is called first."""

        def call(*args: Any, **kwargs: Any) -> Any:  # noqa: ANN401  whatever a template has
            key = macro.package, macro.name
            if key not in self._modules:
                siblings = self._siblings(macro.package)
                self._modules[key] = self._environment.from_string(macro.text, globals=siblings).module
            try:
                return getattr(self._modules[key], macro.name)(*args, **kwargs)
            except _MacroReturnError as error:
                return error.value

        return call

    def _siblings(self, package: str) -> dict[str, Any]:
        """The macros of a package, which call each other by their bare names."""
        return {each.name: self._call_macro(each) for each in self._macros if each.package == package}

    def _dispatch(self, name: str, macro_namespace: str | None = None, **_: object) -> Callable[..., Any]:
        """The macro for the adapter, else the default one, first in its own package."""
        wanted = [f"{prefix}__{name}" for prefix in ("default", self._dialect)]
        packages = [macro_namespace, self._package]
        found = [macro for macro in self._macros if macro.name in wanted]
        if found:
            return self._call_macro(max(found, key=lambda macro: _nearness(macro, packages, wanted)))
        raise NotRenderableError(f"no macro {name!r} for {self._dialect} is in the project or in dbt_packages")

    def _configure(self, *args: Mapping[str, Any], **values: Any) -> str:  # noqa: ANN401
        """Notes ``config(…)``, which renders as nothing."""
        self._config |= {**(args[0] if args else {}), **values}
        return ""

    def _look_up(self, name: str, default: object = None, **_: object) -> object:
        return {**self._given, **self._config}.get(name, default)

    def _say_incremental(self) -> bool:
        self._is_conditional = True
        return self._incremental

    def _refer(self, *names: str, v: object = None, version: object = None) -> str:
        """Renders ``ref("model")`` or ``ref("package", "model")``; a version is part of a model's name."""
        wanted = v if v is not None else version
        return self._add_reference("ref", names[-1] if wanted is None else f"{names[-1]}_v{wanted}")

    def _add_reference(self, kind: str, name: str) -> str:
        """The stand-in of a relation in the rendered SQL; the same for each reference to it."""
        if (kind, name) not in self._references:
            self._references.append((kind, name))
        return f"{RELATION}{self._references.index((kind, name))}"

    def _read_variable(self, name: str, *default: object) -> object:
        if name in self._variables:
            return self._variables[name]
        if default:
            return default[0]
        raise NotRenderableError(f"the variable {name!r} has no value: give it with --vars")


class _ConfigCall:
    """``config(…)`` and ``config.get(…)`` of a template."""

    def __init__(self, configure: Callable[..., str], look_up: Callable[..., object]) -> None:
        self._configure = configure
        self.get = look_up
        self.require = look_up

    def __call__(self, *args: Any, **kwargs: Any) -> str:  # noqa: ANN401
        return self._configure(*args, **kwargs)


def _describe_failure(error: Exception, text: str) -> str:
    """The first line of an error; for an unknown name before a dot and a call, that its package is not installed.

    Jinja itself only says that the name is undefined, and calls a package of macros a dict object.
    """
    line = (str(error).splitlines() or [type(error).__name__])[0].replace("'dict object'", "a package")
    name = line.removesuffix(" is undefined").strip("'")
    is_package = name != line and re.search(rf"\b{re.escape(name)}\.\w+\(", text)
    return f"the package {name!r} is not in dbt_packages (`dbt deps`)" if is_package else line


def _nearness(macro: DbtMacro, packages: Sequence[str | None], names: Sequence[str]) -> tuple[int, int]:
    """How well a macro fits: by its package, then by its name; later ones in both lists fit better."""
    return packages.index(macro.package) if macro.package in packages else -1, names.index(macro.name)


def _return(value: object = None) -> NoReturn:
    raise _MacroReturnError(value)


def _fail(message: str = "", *_: object) -> NoReturn:
    raise NotRenderableError(message)


def _read_variable(name: str, *default: str) -> str:
    """The default of a variable of the environment, which belongs to where dbt runs."""
    if default:
        return default[0]
    raise NotRenderableError(f"env_var({name!r}) has no default")


def _need_database(name: str) -> Callable[..., NoReturn]:
    def refuse(*_: object, **__: object) -> NoReturn:
        raise NotRenderableError(f"{name} queries the database while dbt compiles")

    return refuse


def _database_functions(dialect: str) -> dict[str, Callable[..., str]]:
    """The macros of dbt that bridge databases, in SQL of the dialect or such as all dialects share."""

    def translate(sql: str) -> str:  # Snowflake's argument order is the one of dbt's macros
        return sqlglot.transpile(sql, read="snowflake", write=dialect)[0]

    types = {"string": "varchar", "float": "double", "numeric": "numeric(28, 6)"}
    types |= {name: name for name in ("int", "bigint", "boolean", "timestamp")}
    functions: dict[str, Callable[..., str]] = {
        "any_value": lambda value: f"any_value({value})",
        "bool_or": lambda value: f"bool_or({value})",
        "cast": lambda field, kind: f"cast({field} as {kind})",
        "concat": " || ".join,
        "current_timestamp": lambda: "current_timestamp",
        "dateadd": lambda datepart, interval, from_date_or_timestamp: translate(
            f"dateadd({datepart}, {interval}, {from_date_or_timestamp})"
        ),
        "datediff": lambda first_date, second_date, datepart: translate(
            f"datediff({datepart}, {first_date}, {second_date})"
        ),
        "date_trunc": lambda part, date: f"date_trunc('{part}', {date})",
        "except": lambda: "except",
        "hash": lambda field: f"md5(cast({field} as varchar))",
        "intersect": lambda: "intersect",
        "length": lambda text: f"length({text})",
        "replace": lambda field, old, new: f"replace({field}, {old}, {new})",
        "safe_cast": lambda field, kind: f"try_cast({field} as {kind})",
        "split_part": lambda text, delimiter, part: f"split_part({text}, {delimiter}, {part})",
        "string_literal": lambda value: f"'{value}'",
    }
    return functions | {f"type_{name}": (lambda kind=kind: kind) for name, kind in types.items()}
