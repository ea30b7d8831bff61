"""Places the validations that dbt's tests become: at what is computed, or at the inlets that read it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any

from sparkassets.core.planner.wording import plural
from sparkassets.features.dbt_import.dbt_nodes import DbtNode, DbtTest, ImportNote
from sparkassets.features.dbt_import.dbt_rendering import NotRenderableError
from sparkassets.features.dbt_import.validations import make_validation

Document = dict[str, Any]


@dataclass
class RulePlacement:
    """Adds rules to the documents of assets.

    Attributes:
        documents: The keys of each asset.
        queries: The assets that are computed; others write the rest.
        reads: The assets that each asset reads; a foreign key adds one.
        notes: Where tests that are not carried over, or not as they were, are reported.
        find_asset: The asset of ``("ref", name)`` or ``("source", group.table)``.
        dialect: The SQL of the conditions.
        carried: How many tests hold in the new project.
    """

    documents: Mapping[str, Document]
    queries: Collection[str]
    reads: dict[str, set[str]]
    notes: list[ImportNote]
    find_asset: Callable[[str, str], str | None]
    dialect: str
    carried: int = 0

    def add_rules(self, node: DbtNode, asset: str) -> None:
        """Adds rules for the tests of a node; those of what others write become rules of the inlets that read it.

        Tests that become no rule are reported, each at its line.
        """
        if node.tests and node.kind in ("model", "snapshot") and asset not in self.queries:
            reason = f"the {node.kind} was not carried over"
            subject = f"{plural(len(node.tests), 'test')} of {node.name}"
            self.notes.append(ImportNote(node.file, node.line, subject, reason))
            return
        for test in node.tests:
            try:
                rule = make_validation(test, self.find_asset, dialect=self.dialect)
                self._refuse_circle(asset, rule)
            except (NotRenderableError, KeyError) as error:  # a KeyError of `make_validation` names the argument
                reason = str(error) if isinstance(error, NotRenderableError) else f"its argument {error} is missing"
                self.add_note(test, _describe_test(node, test), reason, "a validation with `sql`")
                continue
            self._add_rule(node, asset, test, rule)

    def _add_rule(self, node: DbtNode, asset: str, test: DbtTest, rule: Document) -> None:
        """Adds a rule to a computed asset, or to the inlets that read what others write, and counts it as carried."""
        subject = _describe_test(node, test)
        if asset in self.queries:
            self.carried += 1
            if not self._is_kept_by_keys(asset, test, subject, rule):
                _append_rule(self.documents[asset], rule)
            return
        readers = [name for name, inlets in self.reads.items() if asset in inlets]
        if not readers or "foreign_key" in rule:
            self.add_note(test, subject, "others write it, and inlets have no such rule", "")
            return
        self.carried += 1
        for reader in readers:
            inlets = self.documents[reader].setdefault("inlets", {})
            _append_rule(inlets.setdefault(asset, {}), rule)

    def _is_kept_by_keys(self, asset: str, test: DbtTest, subject: str, rule: Document) -> bool:
        """Whether the keys of an upsert make a rule ``unique`` needless, since they hold for the whole table.

        With any other ``write``, a rule ``unique`` judges only the rows of each run; it is kept, and that is reported.
        """
        write = self.documents[asset].get("write")
        if write is None or "unique" not in rule:
            return False
        upsert = write["upsert"] if isinstance(write, dict) else {}
        if upsert and "history" not in upsert and {*upsert["keys"]} <= {*rule["unique"]}:
            self.add_note(test, subject, "it is left out: the keys of the upsert hold it for the whole table", "")
            return True
        self.add_note(test, subject, "it judges the rows of each run, and not those written before", "")
        return False

    def _refuse_circle(self, asset: str, rule: Mapping[str, Any]) -> None:
        """Refuses a foreign key to an asset that is computed from this one; else adds that asset to what is read."""
        for reference in (rule.get("foreign_key") or {}).values():
            other = reference.partition(".")[0]
            if asset in {other, *self._upstream(other)}:
                raise NotRenderableError(f"{other!r} is computed from {asset!r}, which would wait for itself")
            self.reads.setdefault(asset, set())
            if asset in self.queries:
                self.reads[asset].add(other)

    def _upstream(self, asset: str) -> set[str]:
        """The asset itself and all that it is computed from, at any distance."""
        found, rest = set[str](), {asset}
        while rest:
            found |= rest
            rest = {each for name in rest for each in self.reads.get(name, ())} - found
        return found

    def add_note(self, test: DbtTest, subject: str, reason: str, remedy: str) -> None:
        """Reports a test at its line."""
        self.notes.append(ImportNote(test.file, test.line, subject, reason, remedy))


def _describe_test(node: DbtNode, test: DbtTest) -> str:
    return f"test {test.name} of {node.name}{'.' * bool(test.column)}{test.column}"


def _append_rule(keys: Document, rule: Document) -> None:
    keys.setdefault("validations", []).append(rule)
