"""The environment that parses and renders templates, and what it makes of their syntax trees."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache, wraps
from types import CodeType
from typing import Any, Final, NoReturn, Protocol, cast, runtime_checkable

from jinja2 import (
    Environment,
    StrictUndefined,
    Template,
    TemplateAssertionError,
    Undefined,
    nodes,
    pass_context,
    pass_environment,
)
from jinja2.compiler import CodeGenerator, Frame
from jinja2.exceptions import SecurityError
from jinja2.runtime import BlockReference, Context, LoopContext, Macro
from jinja2.sandbox import ImmutableSandboxedEnvironment
from jinja2.utils import _PassArg
from jinja2.visitor import NodeTransformer

from sparkassets.core.sandbox.cost_meter import CostMeter
from sparkassets.core.sandbox.literals import ValueInSqlError
from sparkassets.core.sandbox.sql_values import RAW, PrintedValues, SqlFragment, find_untrusted_raw, join_sql, raw_sql
from sparkassets.core.suggestions import did_you_mean

FUNCTIONS: Final = ("range",)
"""Jinja's own functions that a query may need."""

_NO_FILTERS: Final = (
    *("attr", "random"),
    *("e", "escape", "forceescape", "safe", "striptags", "urlize", "xmlattr"),
    *("center", "filesizeformat", "pprint", "wordwrap"),
)
"""Filters that leave the sandbox, that come out otherwise each time, or that make HTML or text for people."""

NO_FILTERED_BLOCK: Final = "a block of SQL cannot be filtered: it contains bound values"
"""Message for ``{% filter %}`` and ``{% set x | upper %}``."""

FILE: Final = "<sql>"
"""The template's file name in tracebacks."""
_NO_METHODS: Final = frozenset({"center", "encode", "expandtabs", "format_map", "to_bytes", "translate"})
"""Likewise, of texts and numbers."""

_EACH: Final = " each"
_TOGETHER: Final = " together"
_CHECKED_RAW: Final = " raw"
_OF_AUTHOR: Final = " sql"
"""Filters that no template can name: they count the turns of loops, join by ``~``, and mark SQL."""
_TAKE_SQL: Final = frozenset({"d", "default", "identifier", "join", RAW, _CHECKED_RAW})
"""Filters that a piece of SQL may go through."""
_MAKE_SQL: Final = (Macro, BlockReference, LoopContext)
"""Types whose call renders a part of the template."""


@runtime_checkable
class MissingExplainer(Protocol):
    """A value that explains to a template's author why it lacks a member."""

    def why_missing(self, name: str) -> str:
        """Why it has no such member."""


class _UnfoldedGenerator(CodeGenerator):
    """Leaves constant expressions to the rendering, where their size is limited; Jinja computes them earlier."""

    def _output_child_to_const(self, *_: object) -> NoReturn:
        raise nodes.Impossible

    def visit_TemplateData(self, node: nodes.TemplateData, frame: Frame) -> None:  # noqa: ARG002, N802  Jinja's names
        """Marks text that the author wrote around expressions, unlike text that expressions print."""
        self.write(f"environment.author_text({node.data!r})")


class _TemplateSandbox(ImmutableSandboxedEnvironment):
    """Jinja's sandbox, in which an asset or a parameter may have the name of a method of dicts: ``copy``, ``items``.

    Attributes:
        meter: Counts what one rendering costs.
        values: The values that a rendering of SQL prints; None where a text for people is rendered.
    """

    code_generator_class = _UnfoldedGenerator
    intercepted_binops = frozenset({"+", "*", "**", "%"})
    meter: CostMeter
    values: PrintedValues | None = None

    @staticmethod
    def author_text(text: str) -> SqlFragment:
        """Text that the template's author wrote, marked as SQL."""
        return SqlFragment(text)

    def is_safe_attribute(self, obj: object, attr: str, value: object) -> bool:
        """Whether a template may have that attribute of a value."""
        return attr not in _NO_METHODS and super().is_safe_attribute(obj, attr, value)

    def getattr(self, obj: object, attribute: str) -> object:
        """The value of ``obj.attribute``: a mapping's own key before its methods."""
        if isinstance(obj, Mapping) and attribute in obj:
            return obj[attribute]
        self.refuse_sql([obj], f"asked for its {attribute!r}")
        return self._explain_undefined(obj, attribute, super().getattr(obj, attribute))

    def getitem(self, obj: object, argument: object) -> object:
        """The value of ``obj[argument]`` in a template."""
        self.refuse_sql([obj], "indexed")
        return self._explain_undefined(obj, argument, super().getitem(obj, argument))

    def call_binop(self, context: Context, operator: str, left: Any, right: Any) -> Any:  # noqa: ANN401  Jinja's signature
        """The result of ``left operator right``, if it is not too large."""
        self.meter.check_number(operator, left, right)
        self.meter.check_product(operator, left, [right])
        if (
            self.values is not None
            and operator == "+"
            and isinstance(left, SqlFragment) | isinstance(right, SqlFragment)
        ):
            return self.concatenate([left, right])
        self.refuse_sql([left, right], f"an operand of {operator!r}")
        return self.meter.count_result(super().call_binop(context, operator, left, right))

    def call(self, context: Context, function: Any, /, *args: Any, **kwargs: Any) -> Any:  # noqa: ANN401  Jinja's signature
        """The result of ``function(…)``, if it is not too large; SQL from a macro stays SQL."""
        owner = getattr(function, "__self__", None)
        self.meter.check_product(getattr(function, "__name__", ""), owner, [*args, *kwargs.values()])
        makes_sql = isinstance(function, _MAKE_SQL)
        if not makes_sql:
            self.refuse_sql([*args, *kwargs.values()], "an argument of a function")
            if "caller" in kwargs:  # of `{% call %}`, whose result is written as it is
                raise ValueInSqlError("{% call %} can call only macros")
        with self.meter.call():
            result = self.meter.count_result(super().call(context, function, *args, **kwargs))
        return SqlFragment(result) if makes_sql and isinstance(result, str) else result

    def concatenate(self, values: Iterable[Any]) -> str:
        """The result of ``~``: SQL if one of the values is SQL, with the others as literals."""
        if self.values is None or not any(isinstance(each, SqlFragment) for each in values):
            return self.meter.count_result("".join(map(str, values)))
        return self.meter.count_result(SqlFragment("".join(map(self.values.print_value, values))))

    def refuse_sql(self, values: Iterable[Any], use: str) -> None:
        """Refuses SQL where a value is expected: ``use`` would break the marks that stand for values in it."""
        if self.values is not None and any(isinstance(each, SqlFragment) for each in values):
            hint = "print it where it is needed"
            raise ValueInSqlError(f"SQL from a macro or a block cannot be {use}", hint=hint)

    def _generate(self, source: nodes.Template, *args: Any, **kwargs: Any) -> str:  # noqa: ANN401  as Jinja's
        if self.values is not None:
            for node, name in find_untrusted_raw(source):
                raise TemplateAssertionError(refused_raw(name), node.lineno)
        return super()._generate(_CountingTransformer(is_sql=self.values is not None).visit(source), *args, **kwargs)

    def _explain_undefined(self, obj: object, name: object, found: object) -> object:
        """``found``, with the reason if it is undefined."""
        if not isinstance(found, Undefined) or found._undefined_exception is SecurityError:  # noqa: SLF001  no other sign
            return found
        reason = obj.why_missing(str(name)) if isinstance(obj, MissingExplainer) else _why_missing(obj, name)
        return found if reason is None else self.undefined(hint=reason, obj=obj, name=str(name))


def refused_raw(name: str) -> str:
    """The error for untrusted text that ``raw`` would paste into SQL."""
    return f"{name!r} cannot be printed raw: it comes from data or events and could change the query"


def _why_missing(obj: object, name: object) -> str | None:
    """Why a value without an explanation of its own lacks a member; None if there is nothing to say."""
    match obj:
        case None:
            return f"{name!r} is undefined: its parent is empty, like 'source_run' of an event without a run"
        case Mapping():
            known = did_you_mean(str(name), map(str, obj)) if obj else "it is empty"
            return f"{name!r} is undefined; {known}" if known else f"{name!r} is undefined"
        case list() | tuple() if isinstance(name, int):
            return f"index {name} is out of range for a list of length {len(obj)}"
        case list() | tuple():
            return f"a list has no {name!r}; take an element, such as [-1] for the last"
    return None


@lru_cache(maxsize=1)
def environment() -> _TemplateSandbox:
    """The sandbox that parses and compiles: names must exist, nothing is loaded, values cannot be changed."""
    sandbox = _TemplateSandbox(
        undefined=StrictUndefined, autoescape=False, keep_trailing_newline=True, optimized=False, finalize=_print_value
    )
    sandbox.meter = CostMeter()
    sandbox.globals = {name: sandbox.globals[name] for name in FUNCTIONS}
    for name in _NO_FILTERS:
        del sandbox.filters[name]
    sandbox.filters |= {"identifier": _identifier, RAW: _raw_by_name}
    sandbox.filters |= {name: _limit_filter(name, each) for name, each in sandbox.filters.items()}
    return sandbox


def render(text: str, names: Mapping[str, object], *, meter: CostMeter | None = None) -> str:
    """A text for people, with these names; ``meter`` has other limits than the usual.

    Raises:
        jinja2.TemplateError: As Jinja says; `TooMuchError` where it takes more than a rendering may cost.
    """
    return _render(environment().overlay(), text, names, meter)


def render_sql(
    text: str,
    names: Mapping[str, object],
    *,
    double_quoted_names: Callable[[], bool] = lambda: False,
    meter: CostMeter | None = None,
) -> str:
    """A query with these names, in which each value is a literal or a part of the literal that it stands in.

    Args:
        text: The template.
        names: Their values.
        double_quoted_names: Whether Spark takes what stands in double quotes for a name.
        meter: Has other limits than the usual.

    Raises:
        jinja2.TemplateError: As `render`; `ValueInSqlError` where a value has no place.
    """
    if "\x00" in text:
        raise TemplateAssertionError("the template contains a NUL character", 1)
    sandbox = environment().overlay()
    sandbox.values = PrintedValues()
    rendered = _render(sandbox, text, names, meter)
    return sandbox.values.resolve(rendered, double_quoted_names=double_quoted_names)


def _render(sandbox: _TemplateSandbox, text: str, names: Mapping[str, object], meter: CostMeter | None) -> str:
    sandbox.meter = meter or CostMeter()
    sandbox.filters = {**sandbox.filters, _EACH: _count_items, _TOGETHER: _concatenate}
    sandbox.filters |= {_CHECKED_RAW: _raw, _OF_AUTHOR: SqlFragment}
    code: CodeType = sandbox.compile(text, filename=FILE)
    parts = Template.from_code(sandbox, code, sandbox.make_globals({})).generate(names)
    return "".join(map(sandbox.meter.count_result, parts))


class _NameFinder(_UnfoldedGenerator):
    """Finds the names that a template needs, like `jinja2.meta`, but without evaluating constants."""

    def __init__(self, sandbox: Environment) -> None:
        super().__init__(sandbox, "<names>", "<names>", optimized=False)
        self.undeclared: set[str] = set()

    def write(self, x: str) -> None:
        """Nothing is generated."""

    def enter_frame(self, frame: Frame) -> None:
        """Remembers what the frame takes from outside."""
        super().enter_frame(frame)
        for action, name in frame.symbols.loads.values():
            if action == "resolve" and name is not None and name not in self.environment.globals:
                self.undeclared.add(name)


def undeclared_names(tree: nodes.Template) -> set[str]:
    """The names that a template needs from whoever renders it.

    Raises:
        jinja2.TemplateAssertionError: The template can be parsed and cannot be compiled.
    """
    names = _NameFinder(environment())
    names.visit(tree)
    return names.undeclared


# --------------------------------------------------------------------------- counting


class _CountingTransformer(NodeTransformer):
    """Sends loops and ``~``, for which Jinja has no hook, through filters that count them.

    In SQL, it also marks what a ``{% set %}`` block makes as SQL, and lets uses of ``raw`` through that were checked
    before.
    """

    def __init__(self, *, is_sql: bool) -> None:
        self._is_sql = is_sql

    def visit_AssignBlock(self, node: nodes.AssignBlock) -> nodes.Node:  # noqa: N802  Jinja's names
        if self._is_sql:
            if node.filter is not None:
                raise TemplateAssertionError(NO_FILTERED_BLOCK, node.lineno)
            node.filter = nodes.Filter(None, _OF_AUTHOR, [], [], None, None, lineno=node.lineno)
        return self.generic_visit(node)

    def visit_FilterBlock(self, node: nodes.FilterBlock) -> nodes.Node:  # noqa: N802
        if self._is_sql:
            raise TemplateAssertionError(NO_FILTERED_BLOCK, node.lineno)
        return self.generic_visit(node)

    def visit_Filter(self, node: nodes.Filter) -> nodes.Node:  # noqa: N802
        if self._is_sql and node.name == RAW:
            node.name = _CHECKED_RAW
        return self.generic_visit(node)

    def visit_For(self, node: nodes.For) -> nodes.Node:  # noqa: N802  Jinja's names
        node.iter = _through_filter(_EACH, cast("nodes.Expr", node.iter))
        return self.generic_visit(node)

    def visit_Concat(self, node: nodes.Concat) -> nodes.Node:  # noqa: N802
        self.generic_visit(node)
        first, *others = node.nodes
        return _through_filter(_TOGETHER, first, others)


def _through_filter(name: str, value: nodes.Expr, args: Iterable[nodes.Expr] = ()) -> nodes.Filter:
    return nodes.Filter(value, name, list(args), [], None, None, lineno=value.lineno)


@pass_environment
def _print_value(sandbox: _TemplateSandbox, value: Any) -> Any:  # noqa: ANN401  whatever a template has
    return value if sandbox.values is None else sandbox.values.print_value(value)


@pass_environment
def _identifier(sandbox: _TemplateSandbox, value: Any) -> Any:  # noqa: ANN401
    """The value as an SQL name; for a list, as several."""
    if sandbox.values is None:
        raise ValueInSqlError("'identifier' is for SQL")
    return sandbox.values.identifier(value)


def _raw(value: Any) -> Any:  # noqa: ANN401
    """The text as SQL; an undefined value as it is."""
    return value if isinstance(value, Undefined) else raw_sql(value)


def _raw_by_name(value: Any) -> NoReturn:  # noqa: ANN401
    """Refuses ``map('raw')``, whose argument is unknown."""
    del value
    raise ValueInSqlError("'raw' is for SQL, and can only be written as {{ … | raw }}")


@pass_environment
def _count_items(sandbox: _TemplateSandbox, values: Iterable[Any]) -> Iterable[Any]:
    return sandbox.meter.count_items(values)


@pass_environment
def _concatenate(sandbox: _TemplateSandbox, *values: Any) -> str:  # noqa: ANN401
    return sandbox.concatenate(values)


def _limit_filter(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """Wraps a filter: a piece of SQL may go through few of them, and the length of the result counts."""
    passes = _PassArg.from_obj(function)

    @pass_context
    @wraps(function, assigned=("__doc__", "__name__"), updated=())
    def apply(context: Context, value: Any = "", *args: Any, **kwargs: Any) -> Any:  # noqa: ANN401
        sandbox = cast("_TemplateSandbox", context.environment)
        sandbox.meter.check_product(name, value, [*args, *kwargs.values()])
        if name not in _TAKE_SQL:
            sandbox.refuse_sql([value, *args, *kwargs.values()], f"changed by the filter {name!r}")
        if name == "join" and sandbox.values is not None:
            value = list(value) if isinstance(value, Iterator) else value  # its items are looked at twice
            if pieces := _sql_pieces(value, args, kwargs):
                return sandbox.meter.count_result(join_sql(*pieces, sandbox.values.print_value))
        first = {_PassArg.context: context, _PassArg.eval_context: context.eval_ctx, _PassArg.environment: sandbox}
        return sandbox.meter.count_result(function(*([first[passes]] if passes else []), value, *args, **kwargs))

    return apply


def _sql_pieces(values: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> tuple[list[Any], Any] | None:  # noqa: ANN401
    """The pieces and the separator of a `join`, if one of them is SQL; else None."""
    separator = args[0] if args else kwargs.get("d", "")
    if not isinstance(values, list | tuple) or len(args) > 1 or "attribute" in kwargs:
        return None
    return ([*values], separator) if any(isinstance(each, SqlFragment) for each in (*values, separator)) else None
