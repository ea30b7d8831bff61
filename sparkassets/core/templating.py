"""SQL templates: the closed set of names that they may use, checked by Jinja's syntax tree before anything runs."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Final, TypeVar, cast

from jinja2 import TemplateAssertionError, TemplateSyntaxError, nodes

from sparkassets.core.events import wrong_member
from sparkassets.core.query_outline import NamedMember, QueryOutline, TemplateError, place_fault
from sparkassets.core.query_text import find_columns_and_tables, find_select_fault, normal_form
from sparkassets.core.redaction import redact
from sparkassets.core.sandbox import (
    FUNCTIONS,
    NO_FILTERED_BLOCK,
    RAW,
    environment,
    find_untrusted_raw,
    refused_raw,
    undeclared_names,
)
from sparkassets.core.suggestions import IN_RUNS, called_here, did_you_mean, suggest_close
from sparkassets.errors import TextFault

_NAMES_SPELLED: Final = """
    inlets outlets partitions partition run_id schedule_date data_interval_start data_interval_end logical_date
    prev_data_interval_start_success prev_data_interval_end_success ds ds_nodash ts ts_nodash ts_nodash_with_tz
    watermark params triggering_event triggering_events triggering_dataset_events
"""
NAMES: Final = frozenset(_NAMES_SPELLED.split())
"""Names that a template may use (docs/design/projects.md#templates); every renderer provides a value for each."""

_KNOWN: Final = "known are inlets, outlets, partitions, params, watermark, run_id and the times of the run"

_EVENTS: Final = ("triggering_events", "triggering_dataset_events")
_DECIDED_BY_ASSET: Final = frozenset({"outlets", "params", "partition", "watermark", *_EVENTS})
_OF_MAPPINGS: Final = frozenset({"get", "items", "keys", "values"})
_TIMES: Final = frozenset(
    {
        *("schedule_date", "data_interval_start", "data_interval_end", "logical_date"),
        *("prev_data_interval_start_success", "prev_data_interval_end_success"),
    }
)
"""Names whose values are pendulum's."""
_LOADING: Final[dict[type[nodes.Node], str]] = {
    nodes.Include: "include",
    nodes.Import: "import",
    nodes.FromImport: "from",
    nodes.Extends: "extends",
}

Member = nodes.Getattr | nodes.Getitem
Found = TypeVar("Found", bound=nodes.Node)


MOST_NESTED: Final = 40
"""Levels of a template's syntax tree: Python cannot compile more than 200 brackets in each other."""
MOST_BLOCKS: Final = 15
"""Blocks in each other: Python cannot compile more than 20 loops."""

_BLOCKS: Final = (nodes.For, nodes.If, nodes.With, nodes.Macro, nodes.CallBlock, nodes.FilterBlock, nodes.AssignBlock)

COLUMNS_EXCEPT: Final = "columns_except"
"""The method of an inlet that lists its columns without some; a column of that name is ``inlets.x['…']``."""

_WORD: Final = re.compile(r"[A-Za-z0-9_]+")

_TOO_DEEP: Final = TextFault(1, 1, 1, "invalid template: it is nested too deeply")


def read_outline(text: str, macros: str = "") -> QueryOutline:
    """Reads what a template says.

    Args:
        text: Its text.
        macros: Definitions of the macros that it uses; what is named in them has lines up to 0.

    Raises:
        TemplateError: It is no template; with the line at fault.
    """
    template = Template.parse(macros + text, before=macros)
    reader = _TemplateChecker(template)
    loading = tuple(reader.loading())
    try:
        faults = (*loading, *reader.names(), *reader.filters(), *reader.values(), *reader.members())
    except RecursionError:  # whoever calls has left little of Python's stack
        raise TemplateError(_TOO_DEEP) from None
    form, (columns, tables) = normal_form(text), find_columns_and_tables(text)
    return QueryOutline(
        inlets=template.inlets,
        outlets=template.outlets,
        members=tuple(reader.named_members()),
        faults=faults,
        reads_files=bool(loading),
        select_fault=None if loading else place_fault(text, find_select_fault(text)),
        partitions=template.partitions,
        columns=columns,
        tables=tables,
        normal_form=form,
        has_credentials=redact(form) != form,
    )


@dataclass(frozen=True)
class Template:
    """A parsed template.

    Attributes:
        text: Its source.
        tree: Jinja's syntax tree.
        parts: Every node below the tree's root, in order of appearance, an outer one before those in it.
        before: The part of the text whose lines are not counted: places in it have lines up to 0.
    """

    text: str
    tree: nodes.Template
    parts: Sequence[nodes.Node]
    before: str = ""

    @classmethod
    def parse(cls, text: str, before: str = "") -> Template:
        """Reads a template; arguments as the attributes.

        Raises:
            TemplateError: With the line at fault.
        """
        try:
            tree = environment().parse(text)
            found = _nodes_of(tree)
        except TemplateSyntaxError as error:
            raise TemplateError(_syntax_fault(text, error)) from None
        except RecursionError:
            raise TemplateError(_TOO_DEEP) from None
        except ValueError:  # Python's limit for the digits of a number, which Jinja does not know
            message = "invalid template: a number in it has more than 4,300 digits"
            raise TemplateError(TextFault(1, 1, 1, message)) from None
        if found is None:
            raise TemplateError(_TOO_DEEP)
        return cls(text, tree, found, before)

    def find(self, *kinds: type[Found]) -> Iterator[Found]:
        """The nodes of these kinds, in order of appearance."""
        return (node for node in self.parts if isinstance(node, kinds))

    @cached_property
    def inlets(self) -> Mapping[str, tuple[int, int]]:
        """The assets named as ``inlets.<name>``, in order of appearance, with line and column of the first mention.

        >>> Template.parse("SELECT * FROM {{ inlets.flights }} JOIN {{ inlets['weather'] }} USING (day)").inlets
        {'flights': (1, 25), 'weather': (1, 52)}
        """
        return self._members_of("inlets")

    @cached_property
    def outlets(self) -> Mapping[str, tuple[int, int]]:
        """The same of ``outlets.<name>``."""
        return self._members_of("outlets")

    @cached_property
    def partitions(self) -> tuple[int, int] | None:
        """Line and column of the first mention of the relation of the run's partitions; None without one."""
        named = (node for node in self.find(nodes.Name) if node.name == "partitions")
        return next((self.place(node, node.name) for node in named), None)

    def _members_of(self, owner: str) -> dict[str, tuple[int, int]]:
        found: dict[str, tuple[int, int]] = {}
        for node in self.members:
            name = member_of(node)
            if name is not None and isinstance(node.node, nodes.Name) and node.node.name == owner:
                found[name] = found.get(name) or self.place(node, name)
        return found

    @property
    def outside_names(self) -> frozenset[str]:
        """The names that it uses and does not define itself."""
        names = list(self.find(nodes.Name))
        own = {each.name for each in names if each.ctx != "load"} | {each.name for each in self.find(nodes.Macro)}
        return frozenset(each.name for each in names if each.ctx == "load") - own

    @cached_property
    def members(self) -> list[Member]:
        """Every ``a.b`` and ``a[b]``, in order of appearance, the outer one before what it is taken from."""
        return list(self.find(nodes.Getattr, nodes.Getitem))

    def quoted_in(self, text: str, *, line: int) -> int | None:
        """The column of the first name or member of a line that ``text`` quotes; None where it quotes none."""
        for node in self.find(nodes.Name, nodes.Getattr, nodes.Getitem):
            word = node.name if isinstance(node, nodes.Name) else member_of(cast("Member", node))
            if node.lineno == line and word and repr(word) in text:
                return self.place(node, word)[1]
        return None

    def place(self, node: nodes.Node, word: str) -> tuple[int, int]:
        """Line and column of ``word`` in the node's line; Jinja keeps the lines only."""
        line, column = self._place_in_text(node, word)
        last = self.before.count("\n") + 1
        return line - last + 1, column - len(self.before.rpartition("\n")[2]) if line == last else column

    def _place_in_text(self, node: nodes.Node, word: str) -> tuple[int, int]:
        words = self._columns.get(node.lineno)
        if words is None:
            words = self._columns[node.lineno] = _columns_of(_line(self.lines, node.lineno))
        if word in words:
            return node.lineno, words[word]
        return node.lineno, max(0, _line(self.lines, node.lineno).find(word)) + 1

    @cached_property
    def lines(self) -> list[str]:
        """The lines of the text, as Jinja counts them."""
        return self.text.splitlines()

    @cached_property
    def _columns(self) -> dict[int, dict[str, int]]:
        return {}


def _columns_of(line: str) -> dict[str, int]:
    """Where each word of a line stands first, inside of ``{{ }}`` or else before it; counted from 1."""
    opened = max(0, line.find("{{") if "{{" in line else line.find("{%"))
    inside = [(found[0], found.start() + 1) for found in _WORD.finditer(line, opened)]
    before = [(found[0], found.start() + 1) for found in _WORD.finditer(line, 0, opened)]
    return dict(reversed([*inside, *before]))


def _nodes_of(tree: nodes.Template) -> list[nodes.Node] | None:
    """Every node below the root, in order of appearance; None where some are nested deeper than Python can compile."""
    found: list[nodes.Node] = []
    left: list[tuple[nodes.Node, int, int]] = [(tree, 0, 0)]
    while left:
        node, levels, blocks = left.pop()
        if levels > MOST_NESTED or blocks > MOST_BLOCKS:
            return None
        found.append(node)
        inside = blocks + isinstance(node, _BLOCKS)
        below = [(child, levels + 1) for child in node.iter_child_nodes()]
        if isinstance(node, nodes.If):  # to Python, each `elif` is inside the one before
            deeper = {id(each): levels + turn for turn, each in enumerate(node.elif_)}
            below = [(child, max(level, deeper.get(id(child), 0))) for child, level in below]
        left += [(child, level, inside) for child, level in reversed(below)]
    return found[1:]


def member_of(node: Member) -> str | None:
    """``b`` of ``a.b`` and ``a['b']``; None where it is only known when the template is rendered."""
    if isinstance(node, nodes.Getattr):
        return node.attr
    return node.arg.value if isinstance(node.arg, nodes.Const) and isinstance(node.arg.value, str) else None


def _path(node: nodes.Node) -> list[str | None]:
    """``["a", "b", None]`` of ``a.b[0]``; empty of what does not begin with a name."""
    steps: list[str | None] = []
    while isinstance(node, nodes.Getattr | nodes.Getitem):
        steps.append(member_of(node))
        node = node.node
    return [node.name, *reversed(steps)] if isinstance(node, nodes.Name) else []


def _leaves_sandbox(node: Member, member: str) -> bool:
    return member.startswith("__") or (member.startswith("_") and isinstance(node, nodes.Getattr))


def _owner_of(node: Member) -> tuple[str, ...]:
    """What a member is asked of, where the asset decides whether it exists: a name of the run, or an inlet."""
    owner = node.node
    if isinstance(owner, nodes.Name):
        is_method = owner.name in _EVENTS and isinstance(node, nodes.Getattr) and member_of(node) in _OF_MAPPINGS
        return (owner.name,) if owner.name in _DECIDED_BY_ASSET and not is_method else ()
    if isinstance(owner, nodes.Getattr | nodes.Getitem) and isinstance(owner.node, nodes.Name):
        inlet = member_of(owner)
        return ("inlets", inlet) if owner.node.name == "inlets" and inlet else ()
    return ()


@cache
def _time_members() -> frozenset[str]:
    from pendulum import DateTime  # only for templates that ask a time for something

    return frozenset(name for name in dir(DateTime) if not name.startswith("_"))


@dataclass(frozen=True)
class _TemplateChecker:
    """Finds what is wrong with a template whatever its asset is, and what only the asset can decide."""

    template: Template

    def loading(self) -> Iterator[TextFault]:
        """Attempts to read other files."""
        for node in self.template.find(*_LOADING):
            word = _LOADING[type(node)]
            hint = "name another asset as {{ inlets.<name> }}, or repeat the text"
            yield self._fault(node, word, f"{word!r} is not supported: a template cannot use other templates", hint)

    def names(self) -> Iterator[TextFault]:
        """Faults of names: unknown names, names of the run that are set again, and objects used without a member."""
        names = list(self.template.find(nodes.Name))
        unknown = self._unknown_names(names)
        with_member = self._nodes_with_members()
        for node in names:
            name = node.name
            if node.ctx != "load" and name in NAMES:
                yield self._fault(node, name, f"{name!r} is a built-in name and cannot be set")
            elif name == "inlets" and id(node) not in with_member:
                example = f"inlets.{next(iter(self.template.inlets), 'a')}"
                yield self._fault(node, name, f"{name!r} must be followed by the name of an asset, such as {example}")
            elif node.ctx == "load" and name in unknown:
                unknown.discard(name)
                hint = called_here(name, IN_RUNS) or suggest_close(name, NAMES) or _KNOWN
                yield self._fault(node, name, f"unknown name {name!r} in the template", hint)

    def _unknown_names(self, names: Iterable[nodes.Name]) -> set[str]:
        """Names that neither the run nor the template itself has."""
        unknown = {node.name for node in names if node.ctx == "load"} - NAMES - set(FUNCTIONS)
        if unknown and self._compiles() is None:
            return unknown & undeclared_names(self.template.tree)
        return unknown - {node.name for node in names if node.ctx != "load"}

    def _compiles(self) -> TemplateAssertionError | None:
        """Why the template, which can be parsed, cannot be compiled; None where it can."""
        try:
            undeclared_names(self.template.tree)
        except TemplateAssertionError as error:
            return error
        return None

    def filters(self) -> list[TextFault]:
        """Filters and tests that Jinja does not have here, and what else it only finds when it compiles."""
        faults: list[TextFault] = []
        sandbox = environment()
        for kind, known, what in ((nodes.Filter, sandbox.filters, "filter"), (nodes.Test, sandbox.tests, "test")):
            for node in cast("Iterable[nodes.Filter | nodes.Test]", self.template.find(kind)):
                if node.name not in known:
                    hint = did_you_mean(node.name, known)
                    faults.append(self._fault(node, node.name, f"unknown {what} {node.name!r} in the template", hint))
        if "{%" in self.template.text and not faults and (error := self._compiles()):
            faults.append(_syntax_fault(self.template.text, error))
        return faults

    def values(self) -> Iterator[TextFault]:
        """Values that would become SQL, and quotes around values that are literals without them."""
        for node, name in find_untrusted_raw(self.template.tree) if RAW in self.template.text else ():
            hint = "{{ … | identifier }} makes a name of it; without a filter it is a literal"
            yield self._fault(node, name, refused_raw(name), hint)
        for block in self.template.find(nodes.FilterBlock, nodes.AssignBlock):
            if isinstance(block, nodes.FilterBlock) or cast("nodes.AssignBlock", block).filter is not None:
                yield self._fault(block, "{%", NO_FILTERED_BLOCK, "apply the filter to the values in it")
        for node in self.template.find(nodes.Filter):
            if node.name == "join" and node.args and _holds_quote(node.args[0]):
                message = "lists are separated and quoted automatically; 'join' would make one quoted text"
                yield self._fault(node, "join", message, "write IN ({{ … }}), without quotes and 'join'")

    def members(self) -> Iterator[TextFault]:
        """Members that an object of the run does not have, and attempts to leave the sandbox."""
        for node in self.template.members:
            member = member_of(node)
            if member is not None:
                yield from self._member_faults(node, member)

    def _member_faults(self, node: Member, member: str) -> Iterator[TextFault]:
        """Yields what is wrong with a member for every asset; of a longer path only the step at fault."""
        if _leaves_sandbox(node, member):
            hint = None if member.startswith("__") else f"write [{member!r}] for a column of that name"
            yield self._fault(node, member, f"{member!r} is not allowed in the template's sandbox", hint)
        elif isinstance(node, nodes.Getattr) and isinstance(node.node, nodes.Name) and node.node.name in _TIMES:
            known = _time_members()
            if member not in known:
                yield self._fault(node, member, f"a time has no {member!r}", did_you_mean(member, known))
        path = _path(node)
        if path and (wrong := wrong_member(path)) and wrong[0] == len(path) - 1:
            yield self._fault(node, member, *wrong[1:])

    def named_members(self) -> Iterator[NamedMember]:
        """The members of which the asset decides whether they exist, and `outlets` without a member."""
        yield from self._bare_outlets()
        listing = {id(call.node): call for call in self.template.find(nodes.Call) if lists_columns(call)}
        for node in self.template.members:
            member = member_of(node)
            if member is not None and not _leaves_sandbox(node, member) and (owner := _owner_of(node)):
                left_out = _texts(listing[id(node)].args) if id(node) in listing else [member]
                yield from (NamedMember((*owner, each), *self.template.place(node, each)) for each in left_out)

    def _bare_outlets(self) -> Iterator[NamedMember]:
        with_member = self._nodes_with_members()
        for name in self.template.find(nodes.Name):
            if name.name == "outlets" and name.ctx == "load" and id(name) not in with_member:
                yield NamedMember(("outlets",), *self.template.place(name, "outlets"))

    def _nodes_with_members(self) -> set[int]:
        return {id(node.node) for node in self.template.members if member_of(node)}

    def _fault(self, node: nodes.Node, word: str, message: str, hint: str | None = None) -> TextFault:
        line, column = self.template.place(node, word)
        return TextFault(line, column, len(word), message, hint)


def lists_columns(node: nodes.Call) -> bool:
    """Whether it is ``inlets.x.columns_except(…)``, of which only a run knows what it prints."""
    callee = node.node
    return isinstance(callee, nodes.Getattr) and callee.attr == COLUMNS_EXCEPT and _owner_of(callee)[:1] == ("inlets",)


def _texts(values: Iterable[nodes.Node]) -> list[str]:
    """The values that are plain text in the template."""
    return [each.value for each in values if isinstance(each, nodes.Const) and isinstance(each.value, str)]


def _holds_quote(node: nodes.Node) -> bool:
    return isinstance(node, nodes.Const) and isinstance(node.value, str) and not {"'", '"'}.isdisjoint(node.value)


def _syntax_fault(text: str, error: TemplateSyntaxError) -> TextFault:
    """Jinja's syntax error as a fault of its line; Jinja reports no columns."""
    line = _line(text.splitlines(), error.lineno)
    column = len(line) - len(line.lstrip()) + 1
    message = f"invalid template: {(error.message or '').rstrip('.')}"
    return TextFault(error.lineno, column, max(1, len(line.strip())), message)


def _line(lines: list[str], number: int) -> str:
    return lines[number - 1] if 0 < number <= len(lines) else ""
