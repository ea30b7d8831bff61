"""The rules of an asset, an outlet or an inlet, from `validations` of the YAML."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from decimal import Decimal
from typing import Any, Final

from sparkassets.core.entry_points import RegisteredError
from sparkassets.core.phrases import listing
from sparkassets.core.spec.asset_models import AssetFile, OutletMap
from sparkassets.core.spec.drafts import AssetDraft
from sparkassets.core.spec.inlet_models import InletMap
from sparkassets.core.spec.rule_checks import (
    CHECK_BUILDERS,
    CheckContext,
    CodeCatalog,
    check_text,
    foreign_key_from_map,
    foreign_key_from_text,
)
from sparkassets.core.spec.rule_maps import (
    CHECKS,
    TAKING,
    ForeignKeyMap,
    RegisteredRuleMap,
    RuleMap,
    column_rule,
)
from sparkassets.core.spec.yaml_document import DocumentPlace
from sparkassets.core.suggestions import KnownColumns
from sparkassets.core.validations import Check, CheckScope, FailureAllowance, ForeignKeyCheck, ValidationRule
from sparkassets.core.validations.registered_checks import build_registered_check

WrittenRule = RuleMap | RegisteredRuleMap
PlacedRule = tuple[DocumentPlace, WrittenRule]

_SCOPES: Final[Mapping[str, tuple[CheckScope, ...]]] = {
    "has_columns": ("run",),
    "row_count": ("partition", "run"),
    "unique": ("partition", "run"),
    "freshness": ("partition", "run"),
    "sql": ("row", "partition", "run"),
    "python": ("row", "partition", "run"),
}
"""The scopes that a check may have, its default first; checks that are not listed judge rows."""
_ROW_SCOPES: Final[tuple[CheckScope, ...]] = ("row",)
_SCOPE_WORDS: Final[Mapping[CheckScope, str]] = {"row": "rows", "partition": "partitions", "run": "all rows of a run"}
_MOST_CHARACTERS: Final = 60
"""Characters of a condition in the name of its rule."""


def compile_rules(
    items: Iterable[PlacedRule],
    columns: KnownColumns | None,
    code: CodeCatalog,
    *,
    of_inlet: bool = False,
) -> tuple[ValidationRule, ...]:
    """Compiles the rules; errors in one become problems.

    Args:
        items: The rules as they are written, each with its place.
        columns: Those of the rows, where all are known.
        code: Where functions come from.
        of_inlet: The rows are read, not written: they are judged as one, and none can be taken away.
    """
    rule_by_name: dict[str, ValidationRule] = {}
    for at, each in items:
        for rule in _compile_item(at, each, columns, code, of_inlet=of_inlet):
            first = rule_by_name.setdefault(rule.name, rule)
            if first is not rule:
                message = f"two validations are called {rule.name!r}; the first is in line {first.place.line}"
                at.add_problem(message, hint="give one of them a 'name'")
    return tuple(rule_by_name.values())


def referenced_assets(draft: AssetDraft) -> dict[str, DocumentPlace]:
    """The assets that foreign keys name, of the asset, its outlets and its inlets, each with the place of the first."""
    place_by_asset: dict[str, DocumentPlace] = {}
    for key, at, _ in foreign_keys(draft):
        place_by_asset.setdefault(key.asset, at)
    return place_by_asset


def foreign_keys(draft: AssetDraft) -> Iterator[tuple[ForeignKeyCheck, DocumentPlace, DocumentPlace]]:
    """The foreign keys of the asset, its outlets and its inlets, with where the other asset and its columns stand."""
    for at, item in _iterate_rules(draft):
        place = at / "foreign_key"
        match item:
            case RuleMap(foreign_key=ForeignKeyMap() as key):
                columns = place / ("to" if key.to is not None else "columns")
                yield foreign_key_from_map(key), place / "asset", columns
            case RuleMap(foreign_key=dict() as columns):
                yield from (
                    (foreign_key_from_text(name, to), place / name, place / name) for name, to in columns.items()
                )


def rule_functions(draft: AssetDraft) -> Iterator[tuple[str, str]]:
    """The module and the name of each function that a rule of the asset, its outlets or its inlets names."""
    for _, item in _iterate_rules(draft):
        if isinstance(item, RuleMap) and item.python is not None:
            module, _, name = item.python.partition(":")
            yield module, name


def refuse_rules(draft: AssetDraft) -> None:
    """Refuses rules of what others write: nothing can hold that back."""
    if not draft.keys.source:
        return
    lists = {at.path[:-1] for at, _ in own_rules(draft.at, draft.keys)}
    for at in (DocumentPlace(draft.at.document, path) for path in sorted(lists, key=str)):
        hint = f"move it to the assets that read it: inlets: {{{draft.name}: {{validations: […]}}}}"
        at.add_key_problem(
            f"a source cannot have {at.path[-1]}: others write it, so its rows cannot be withheld", hint=hint
        )


def own_rules(at: DocumentPlace, keys: AssetFile | OutletMap) -> Iterator[PlacedRule]:
    """The `validations` of an asset or an outlet, then the `checks` of its columns, each with its place."""
    yield from inlet_rules(at, keys)
    for name, column in keys.columns.items():
        for number, check in enumerate(column.checks if not isinstance(column, str) else ()):
            yield at / "columns" / name / "checks" / number, column_rule(name, check)


def inlet_rules(at: DocumentPlace, keys: InletMap | AssetFile | OutletMap) -> Iterator[PlacedRule]:
    """The `validations` below a place, each with its own."""
    yield from ((at / "validations" / number, item) for number, item in enumerate(keys.validations))


def _iterate_rules(draft: AssetDraft) -> Iterator[PlacedRule]:
    """The rules of an asset, its inlets and its outlets."""
    keys = draft.keys
    yield from own_rules(draft.at, keys)
    for name, inlet in keys.inlets.items() if isinstance(keys.inlets, dict) else ():
        yield from inlet_rules(draft.at / "inlets" / name, inlet) if inlet else ()
    for name, outlet in (keys.outlets or {}).items():
        yield from own_rules(draft.at / "outlets" / name, outlet) if outlet else ()


def _compile_item(
    at: DocumentPlace, item: WrittenRule, columns: KnownColumns | None, code: CodeCatalog, *, of_inlet: bool
) -> Iterator[ValidationRule]:
    """The rules of one item: of several columns one each."""
    if isinstance(item, RegisteredRuleMap):
        yield from _compile_registered_rule(at, item, code, of_inlet=of_inlet)
        return
    kind = _find_kind(at, item)
    if kind is None:
        return
    scope = _choose_scope(at, item, kind, of_inlet=of_inlet)
    _check_options(at, item, kind, scope, of_inlet=of_inlet)
    value: Any = getattr(item, kind)
    # only what is written empty: wrong values, which are problems already, are left out of `item`
    if not value and kind != "sql" and not (at / kind).value:
        (at / kind).add_problem(f"{kind!r} is empty; expected a column")
    checks = list(CHECK_BUILDERS[kind](value, at / kind, CheckContext(scope, columns, code, of_inlet)))
    if item.name is not None and len(checks) > 1:
        message = f"'name' names one rule, but {kind!r} has {len(checks)} columns"
        (at / "name").add_problem(message, hint="write one item for each")
        return
    for check in checks:
        yield _make_rule(at, item, check)


def _compile_registered_rule(
    at: DocumentPlace, item: RegisteredRuleMap, code: CodeCatalog, *, of_inlet: bool
) -> Iterator[ValidationRule]:
    """The rule of a check that a package registered, with the scope that this has."""
    try:
        check = build_registered_check(item.check, dict(item.model_extra or {}), installed=code.checks)
    except RegisteredError as error:
        at.add_refusal(error, name="check")
        return
    if of_inlet and check.scope == "partition":
        (at / "check").add_problem(f"{item.check!r} judges partitions, but the rows of an inlet are judged as a whole")
    _check_options(at, item, item.check, check.scope, of_inlet=of_inlet)
    yield _make_rule(at, item, check)


def _make_rule(at: DocumentPlace, item: WrittenRule, check: Check) -> ValidationRule:
    """A rule with one check and the options of its item; without a name it is called by its check."""
    return ValidationRule(
        name=item.name or _default_name(check),
        check=check,
        severity=item.severity,
        allow=_parse_allowance(item.allow),
        where=(item.where or "").strip(),
        samples=item.samples,
        place=at.location,
    )


def _find_kind(at: DocumentPlace, item: RuleMap) -> str | None:
    """The key of the item's one check; None where there is none, or several.

    None at all is no further problem where the item has an unknown key, which may be a misspelt check.
    """
    kinds = [key for key in CHECKS if getattr(item, key) is not None]
    written = at.value
    if len(kinds) > 1:
        message = f"a validation has one check, but this one has {listing(map(repr, kinds), last='and')}"
        (at / kinds[1]).add_key_problem(message, hint="write one item for each")
    elif not kinds and isinstance(written, dict) and written.keys() <= RuleMap.model_fields.keys() - {*CHECKS}:
        at.add_problem(f"the validation has no check; expected {listing(map(repr, (*CHECKS, 'check')))}")
    return kinds[0] if len(kinds) == 1 else None


def _choose_scope(at: DocumentPlace, item: RuleMap, kind: str, *, of_inlet: bool) -> CheckScope:
    """The scope of a rule; for an inlet rows, or all that is read."""
    scopes = _SCOPES.get(kind, _ROW_SCOPES)
    if of_inlet:
        scopes = tuple(scope for scope in scopes if scope != "partition")
    written_scope = item.per
    if written_scope is None or written_scope in scopes:
        return written_scope or scopes[0]
    if of_inlet and written_scope == "partition":
        (at / "per").add_problem("'per' is 'partition', but the rows of an inlet are judged as a whole")
    else:
        scope_words = listing([_SCOPE_WORDS[scope] for scope in scopes])
        (at / "per").add_problem(f"'per' is {written_scope!r}, but {kind!r} judges {scope_words}")
    return scopes[0]


def _check_options(at: DocumentPlace, item: WrittenRule, kind: str, scope: CheckScope, *, of_inlet: bool) -> None:
    """Refuses options that mean nothing for the check."""
    if item.severity in TAKING and (of_inlet or scope != "row"):
        reason = f"{kind!r} of a {scope} does not identify failing rows"
        reason = "the rows of an inlet cannot be removed" if of_inlet else reason
        (at / "severity").add_problem(f"'severity' is {item.severity!r}, but {reason}", hint="expected fail or warn")
    if item.allow is not None and scope != "row" and kind != "unique":
        (at / "allow").add_key_problem(
            f"'allow' is a number of rows, but {kind!r} of a {scope} does not count failing rows"
        )
    if isinstance(item.allow, str) and Decimal(item.allow[:-1]) > 100:  # noqa: PLR2004  per cent
        (at / "allow").add_problem(f"'allow' is {item.allow!r}; expected at most 100%")
    if item.samples and scope != "row" and kind != "unique":
        (at / "samples").add_key_problem(
            f"'samples' shows failing rows, but {kind!r} of a {scope} does not identify any"
        )
    if item.where is not None and kind == "has_columns":
        (at / "where").add_key_problem("'where' selects rows, but 'has_columns' checks only columns")
    check_text(at / "where", item.where)
    check_text(at / "name", item.name)


def _default_name(check: Check) -> str:
    """How a rule is called that has no name."""
    subject = check.subject if len(check.subject) <= _MOST_CHARACTERS else f"{check.subject[: _MOST_CHARACTERS - 1]}…"
    return f"{check.kind}({subject})"


def _parse_allowance(text_or_count: int | str | None) -> FailureAllowance | None:
    """How many rows may fail: a number of rows, or a percentage of them such as ``1%``; None for none."""
    if text_or_count is None:
        return None
    return (
        FailureAllowance(rows=text_or_count)
        if isinstance(text_or_count, int)
        else FailureAllowance(Decimal(text_or_count[:-1]) / 100)
    )
