"""Names of Airflow and dbt, with the names for them here."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

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


def called_here(name: str, names: Mapping[str, str]) -> str | None:
    """A hint with what is meant by a name of Airflow or dbt; None of any other name.

    >>> called_here("source_dag_run", IN_EVENTS)
    "here it is 'source_run'"
    """
    meant = names.get(name)
    if meant is None:
        return None
    return f"here it is {meant!r}" if meant.isidentifier() else f"here it is {meant}"
