"""The environment that parses and renders templates, and what it makes of their syntax trees."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache, wraps
from types import CodeType
from typing import Any, Final, NoReturn, Protocol, cast, runtime_checkable

from jinja2 import Environment, StrictUndefined, Template, Undefined, nodes, pass_context, pass_environment
from jinja2.compiler import CodeGenerator, Frame
from jinja2.exceptions import SecurityError
from jinja2.runtime import Context
from jinja2.sandbox import ImmutableSandboxedEnvironment
from jinja2.utils import _PassArg
from jinja2.visitor import NodeTransformer

from sparkassets.core.sandbox.growth import before_call, before_filter, before_operator
from sparkassets.core.sandbox.meter import Meter
from sparkassets.core.suggestions import did_you_mean

FUNCTIONS: Final = ("range",)
"""Of Jinja's own functions, those that a query may need."""

_NOT_FOR_SQL: Final = ("attr", "pprint", "striptags", "urlize", "xmlattr")
"""Filters that leave the sandbox, or that make HTML and text for people."""

FILE: Final = "<sql>"
"""What tracebacks call the template."""

_EACH: Final = " each"
_WEIGHED: Final = " weighed"
_TOGETHER: Final = " together"
"""Filters that no template can name: they count what loops, comparisons and ``~`` do."""


@runtime_checkable
class Explains(Protocol):
    """A value of a run that says why it lacks something."""

    def why_missing(self, name: str) -> str:
        """Why it has no such member."""


class _AsWritten(CodeGenerator):
    """Leaves every expression to the rendering, where its cost is counted; Jinja would compute those of constants."""

    def _output_child_to_const(self, *_: object) -> NoReturn:
        raise nodes.Impossible


class _Sandbox(ImmutableSandboxedEnvironment):
    """Jinja's sandbox, in which an asset or a parameter may have the name of a method of dicts: ``copy``, ``items``.

    Attributes:
        meter: Counts what one rendering costs.
    """

    code_generator_class = _AsWritten
    intercepted_binops = frozenset({"+", "*", "**", "%"})
    meter: Meter

    def getattr(self, obj: object, attribute: str) -> object:
        """A mapping's own key, else what Jinja makes of ``obj.attribute``."""
        if isinstance(obj, Mapping) and attribute in obj:
            return obj[attribute]
        return self._told(obj, attribute, super().getattr(obj, attribute))

    def getitem(self, obj: object, argument: object) -> object:
        """What Jinja makes of ``obj[argument]``."""
        return self._told(obj, argument, super().getitem(obj, argument))

    def call_binop(self, context: Context, operator: str, left: Any, right: Any) -> Any:  # noqa: ANN401  Jinja's signature
        """``left operator right``, unless that is too much."""
        before_operator(self.meter, operator, left, right)
        return super().call_binop(context, operator, left, right)

    def call(self, context: Context, function: Any, /, *args: Any, **kwargs: Any) -> Any:  # noqa: ANN401  Jinja's signature
        """``function(…)``, unless that is too much."""
        taken = [_taken(self.meter, each) for each in args]
        before_call(self.meter, function, taken, kwargs)
        with self.meter.call():
            return super().call(context, function, *taken, **kwargs)

    def _generate(self, source: nodes.Template, *args: Any, **kwargs: Any) -> str:  # noqa: ANN401  as Jinja's
        return super()._generate(_Counting().visit(source), *args, **kwargs)

    def _told(self, obj: object, name: object, found: object) -> object:
        """What was found; undefined with the reason where it is not there."""
        if not isinstance(found, Undefined) or found._undefined_exception is SecurityError:  # noqa: SLF001  no other sign
            return found
        reason = obj.why_missing(str(name)) if isinstance(obj, Explains) else _why_missing(obj, name)
        return found if reason is None else self.undefined(hint=reason, obj=obj, name=str(name))


def _why_missing(obj: object, name: object) -> str | None:
    """Why a plain value has no such member."""
    match obj:
        case None:
            return f"there is no {name!r}: what should have it is empty, like 'source_run' of an event without a run"
        case Mapping():
            known = did_you_mean(str(name), map(str, obj)) if obj else "nothing is in it"
            return f"there is no {name!r}; {known}" if known else f"there is no {name!r}"
        case list() | tuple() if isinstance(name, int):
            return f"there is no element {name}: the list has {len(obj)}"
        case list() | tuple():
            return f"a list has no {name!r}; take one of its elements, as [-1] takes the last"
    return None


@lru_cache(maxsize=1)
def environment() -> _Sandbox:
    """The sandbox that parses and compiles: names must exist, nothing is loaded, values cannot be changed."""
    sandbox = _Sandbox(
        undefined=StrictUndefined, autoescape=False, keep_trailing_newline=True, optimized=False, finalize=_printed
    )
    sandbox.meter = Meter()
    sandbox.globals = {name: sandbox.globals[name] for name in FUNCTIONS}
    for name in _NOT_FOR_SQL:
        del sandbox.filters[name]
    sandbox.filters |= {name: _counted_filter(name, each) for name, each in sandbox.filters.items()}
    sandbox.tests |= {
        name: _counted_filter("", cast("Callable[..., Any]", each)) for name, each in sandbox.tests.items()
    }
    return sandbox


def render(text: str, names: Mapping[str, object], *, meter: Meter | None = None) -> str:
    """The template with these names; ``meter`` has other limits than the usual.

    Raises:
        jinja2.TemplateError: As Jinja says; `TooMuchError` where it takes more than a rendering may cost.
    """
    sandbox = environment().overlay()
    sandbox.meter = meter or Meter()
    sandbox.filters = {**sandbox.filters, _EACH: _each, _WEIGHED: _weighed, _TOGETHER: _together}
    code: CodeType = sandbox.compile(text, filename=FILE)
    return Template.from_code(sandbox, code, sandbox.make_globals({})).render(names)


class _Names(_AsWritten):
    """Finds the names that a template needs, as `jinja2.meta` does, which would compute constants on the way."""

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
    """The names that a template takes from whoever renders it.

    Raises:
        jinja2.TemplateAssertionError: It can be parsed and cannot be compiled.
    """
    names = _Names(environment())
    names.visit(tree)
    return names.undeclared


# --------------------------------------------------------------------------- counting


class _Counting(NodeTransformer):
    """Makes what no hook of Jinja tells of go through a filter that counts: loops, comparisons, slices and ``~``."""

    def visit_For(self, node: nodes.For) -> nodes.Node:  # noqa: N802  Jinja's names
        node.iter = _through(_EACH, cast("nodes.Expr", node.iter))
        return self.generic_visit(node)

    def visit_Compare(self, node: nodes.Compare) -> nodes.Node:  # noqa: N802
        node.expr = _through(_WEIGHED, node.expr)
        for operand in node.ops:
            operand.expr = _through(_WEIGHED, operand.expr)
        return self.generic_visit(node)

    def visit_Getitem(self, node: nodes.Getitem) -> nodes.Node:  # noqa: N802
        if isinstance(node.arg, nodes.Slice):
            node.node = _through(_WEIGHED, node.node)
        return self.generic_visit(node)

    def visit_Concat(self, node: nodes.Concat) -> nodes.Node:  # noqa: N802
        self.generic_visit(node)
        first, *others = node.nodes
        return _through(_TOGETHER, first, others)


def _through(name: str, value: nodes.Expr, args: Iterable[nodes.Expr] = ()) -> nodes.Filter:
    return nodes.Filter(value, name, list(args), [], None, None, lineno=value.lineno)


def _taken(meter: Meter, value: Any) -> Any:  # noqa: ANN401  whatever a template has
    """A value that can be looked at twice: what is left of an iterator becomes a list."""
    return list(meter.each(value)) if isinstance(value, Iterator) else value


@pass_environment
def _printed(sandbox: _Sandbox, value: Any) -> Any:  # noqa: ANN401  whatever a template has
    sandbox.meter.write(sandbox.meter.weigh(value))
    return value


@pass_environment
def _each(sandbox: _Sandbox, values: Iterable[Any]) -> Iterable[Any]:
    return sandbox.meter.each(values)


@pass_environment
def _weighed(sandbox: _Sandbox, value: Any) -> Any:  # noqa: ANN401
    sandbox.meter.weigh(value)
    return value


@pass_environment
def _together(sandbox: _Sandbox, *values: Any) -> str:  # noqa: ANN401
    sandbox.meter.write(sandbox.meter.weigh(*values))
    return "".join(map(str, values))


def _counted_filter(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """The filter or test, its cost counted before; ``name`` is empty for a test, which makes nothing."""
    passes = _PassArg.from_obj(function)

    @pass_context
    @wraps(function, assigned=("__doc__", "__name__"), updated=())
    def counted(context: Context, value: Any = "", *args: Any, **kwargs: Any) -> Any:  # noqa: ANN401
        sandbox = cast("_Sandbox", context.environment)
        taken = _taken(sandbox.meter, value)
        if name:
            before_filter(sandbox.meter, name, taken, args, kwargs)
        else:
            sandbox.meter.weigh(taken, *args)
        match passes:
            case _PassArg.context:
                return function(context, taken, *args, **kwargs)
            case _PassArg.eval_context:
                return function(context.eval_ctx, taken, *args, **kwargs)
            case _PassArg.environment:
                return function(sandbox, taken, *args, **kwargs)
        return function(taken, *args, **kwargs)

    return counted
