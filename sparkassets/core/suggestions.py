"""What a wrong name may have meant: similar names, other frameworks' names, and columns that are known."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from sparkassets.frozen import frozen

_LONGEST: Final = 100
"""Characters of a name that somebody may have mistyped: comparing takes as long as both lengths multiplied."""


def did_you_mean(name: str, known: Iterable[str]) -> str | None:
    """A hint that names the closest of ``known``, or lists them when they are few.

    >>> did_you_mean("shedule", ["schedule", "strategy"])
    "did you mean 'schedule'?"
    >>> did_you_mean("x", ["schedule", "strategy"])
    'known are schedule, strategy'
    """
    names = sorted(known)
    return suggest_close(name, names) or list_known(names)


def list_known(known: Iterable[str]) -> str | None:
    """A hint that lists ``known``; None where there are none, or more than anybody reads."""
    names = sorted(known)
    few = 12
    verb = "is" if len(names) == 1 else "are"
    return f"known {verb} {', '.join(names)}" if 0 < len(names) <= few else None


def suggest_close(name: str, known: Iterable[str]) -> str | None:
    """A hint that names the closest of ``known``; None when none is close."""
    close = find_nearest(name, known)
    return f"did you mean {close!r}?" if close else None


def find_nearest(name: str, known: Iterable[str], *, cutoff: float = 0.6) -> str | None:
    """The one of ``known`` that looks most like ``name``, whatever its case; None when none does.

    Args:
        name: The name as written.
        known: The names that could be meant.
        cutoff: How alike they are at least, from 0 to 1.
    """
    if len(name) > _LONGEST:
        return None
    from difflib import get_close_matches

    candidates = {each.casefold(): each for each in sorted(known, reverse=True) if len(each) <= _LONGEST}
    close = get_close_matches(name.casefold(), candidates, n=1, cutoff=cutoff)
    return candidates[close[0]] if close else None


def find_nearest_zone(name: str, zones: Iterable[str]) -> str | None:
    """The one of the time zones that a mistyped name probably means; a name without ``/`` is taken for a city.

    >>> find_nearest_zone("berlin", ["America/Belize", "Europe/Berlin", "EST"])
    'Europe/Berlin'
    """
    names, wanted = sorted(zones), name.replace(" ", "_")
    cities = {each.rpartition("/")[2]: each for each in names if "/" in each}
    exact = next((each for each in names if each.casefold() == wanted.casefold()), None)
    if exact or "/" in wanted:
        return exact or find_nearest(wanted, names)
    return cities.get(find_nearest(wanted, cities, cutoff=0.8) or "")


def missing_module_hint(name: str, module: str) -> str:
    """A hint for code of ``module`` that imports a module ``name`` which is not there.

    >>> missing_module_hint("jobs.rates", "jobs.daily")
    "module 'jobs.rates' not found in the project's package 'jobs'"
    >>> missing_module_hint("pandas.core", "jobs.daily")
    "install the package that provides 'pandas' where the driver runs, or move it beside the project's package 'jobs'"
    """
    package, own = name.partition(".")[0], module.partition(".")[0]
    if package == own:
        return f"module {name!r} not found in the project's package {own!r}"
    where = f"move it beside the project's package {own!r}"
    return f"install the package that provides {package!r} where the driver runs, or {where}"


_BEFORE: Final = "data_interval_start.subtract(days=1)"
_INLET: Final = "{{ inlets.<asset> }}"

IN_RUNS: Final[Mapping[str, str]] = {
    "config": "the keys of the asset's YAML",
    "conn": "the project's profiles",
    "dag_run": "run_id, params and triggering_events",
    "dataset_events": "triggering_events",
    "env_var": "${NAME} in the project's YAML, and params",
    "execution_date": "logical_date",
    "inlet_events": "triggering_events",
    "is_incremental": "the asset's strategy, with {{ partitions }} or {{ watermark.low }}",
    "macros": "the methods of a time, such as data_interval_start.subtract(days=1)",
    "next_ds": "data_interval_end.to_date_string()",
    "next_ds_nodash": "data_interval_end.strftime('%Y%m%d')",
    "next_execution_date": "data_interval_end",
    "prev_ds": f"{_BEFORE}.to_date_string(), or prev_data_interval_start_success",
    "prev_ds_nodash": f"{_BEFORE}.strftime('%Y%m%d')",
    "prev_execution_date": f"{_BEFORE}, or prev_data_interval_start_success",
    "prev_execution_date_success": "prev_data_interval_start_success",
    "prev_start_date_success": "prev_data_interval_start_success",
    "ref": _INLET,
    "run_date": "logical_date, the start of the interval, or schedule_date",
    "source": _INLET,
    "task_instance": "run_id",
    "this": "{{ outlets.<asset> }}",
    "ti": "run_id",
    "tomorrow_ds": "data_interval_start.add(days=1).to_date_string()",
    "triggering_asset_events": "triggering_events",
    "var": "params",
    "yesterday_ds": f"{_BEFORE}.to_date_string()",
}
"""Names in templates, and attributes of the context of a function."""

IN_EVENTS: Final[Mapping[str, str]] = {
    "dataset_id": "dataset",
    "dataset_uri": "uri",
    "source_dag_id": "asset",
    "source_dag_run": "source_run",
    "source_run_id": "run",
    "timestamp": "at",
}
"""Attributes of events."""

IN_SOURCE_RUNS: Final[Mapping[str, str]] = {
    "conf": "the event's extra",
    "end_date": "data_interval.end",
    "execution_date": "logical_date",
    "start_date": "data_interval.start",
}
"""Attributes of the run that an event comes from."""

IN_YAML: Final[Mapping[str, str]] = {
    "catchup": "schedule: {catchup: …}",
    "cron": "schedule",
    "dag_id": "asset",
    "depends_on": "inlets",
    "deps": "inlets",
    "end_date": "end",
    "execution_timeout": "timeout",
    "incremental_strategy": "strategy and write",
    "materialized": "write",
    "max_active_runs": "strategy",
    "on_failure_callback": "notify",
    "partition_by": "partition",
    "partitions_def": "partition",
    "schedule_interval": "schedule",
    "start_date": "start",
    "task_id": "asset",
    "tests": "validations",
    "timetable": "schedule",
    "unique_key": "write: {upsert: {keys: […]}}",
}
"""Keys of an asset."""

IN_UPSERTS: Final[Mapping[str, str]] = {
    "apply_as_deletes": "delete_when",
    "sequence_by": "newest_by",
    "unique_key": "keys",
    "updated_at": "newest_by",
}
"""Keys of an upsert."""


def called_here(name: str, names: Mapping[str, str]) -> str | None:
    """A hint with what is meant by a name of Airflow, dbt or Databricks; None of any other name.

    >>> called_here("source_dag_run", IN_EVENTS)
    "here it is 'source_run'"
    """
    meant = names.get(name)
    if meant is None:
        return None
    return f"here it is {meant!r}" if meant.isidentifier() else f"here it is {meant}"


@frozen
class KnownColumns:
    """All columns of an asset.

    Attributes:
        names: As they are written, in order.
        lacks: The beginning of a sentence that ends with the name of a column, such as ``the table has no column``.
        hint: The advice where no name is similar.
    """

    names: Sequence[str]
    lacks: str
    hint: str | None = None

    @classmethod
    def of_declaration(cls, asset: str, names: Sequence[str]) -> KnownColumns:
        """The columns that the asset declares."""
        return cls(names, f"asset {asset!r} declares no column", "add it to the 'columns' of that asset")

    @classmethod
    def of_select(cls, asset: str, names: Sequence[str]) -> KnownColumns:
        """The columns that its SELECT yields."""
        return cls(names, f"the SELECT of asset {asset!r} yields no column")

    @classmethod
    def of_table(cls, asset: str, names: Sequence[str]) -> KnownColumns:
        """The columns of its stored table."""
        return cls(names, f"the table of asset {asset!r} has no column")

    def find_problem(self, column: str) -> tuple[str, str | None] | None:
        """The error of a file that names this column, and a hint; None where the column exists, in any case of letters.

        >>> KnownColumns.of_select("flights", ["day", "dep_delay"]).find_problem("dep_dely")
        ("the SELECT of asset 'flights' yields no column 'dep_dely'", "did you mean 'dep_delay'?")
        """
        if column.lower() in map(str.lower, self.names):
            return None
        return f"{self.lacks} {column!r}", did_you_mean(column, self.names) or self.hint
