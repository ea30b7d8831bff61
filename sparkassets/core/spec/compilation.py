"""Compiles the drafts of all assets and their code into a project, and judges them together."""

from __future__ import annotations

from collections.abc import Mapping

from sparkassets.core.entry_points import Factory
from sparkassets.core.outline_memo import OutlineMemo
from sparkassets.core.partitions import Partitioning
from sparkassets.core.phrases import parse_size
from sparkassets.core.query_outline import check_template, find_statement_fault
from sparkassets.core.spec import outlets
from sparkassets.core.spec.asset_checks import (
    check_self_written,
    check_together,
    compile_external_schedule,
    find_unbraced_assets,
)
from sparkassets.core.spec.asset_graph import sort_topologically, upstream_edges
from sparkassets.core.spec.asset_services import RunBudget
from sparkassets.core.spec.bodies import AssetBody, AssetCode, compile_body, join_bodies
from sparkassets.core.spec.column_inference import (
    TableColumns,
    check_listed_columns,
    check_partition_columns,
    compile_columns,
    find_known_columns,
)
from sparkassets.core.spec.drafts import AssetDraft, AssetFiles, ProjectDraft, resolve_path
from sparkassets.core.spec.expect_and_notify import compile_expect, compile_notify, narrow_rules, refuse_selections
from sparkassets.core.spec.folder_defaults import check_folders, find_owner, find_tags
from sparkassets.core.spec.inlets import compile_inlets
from sparkassets.core.spec.model import CHANGE_COLUMNS, AssetSpec, InletSpec, ReadChanges, Schedule
from sparkassets.core.spec.module_source import ModuleSource
from sparkassets.core.spec.outlets import compile_folders, compile_properties
from sparkassets.core.spec.partition import compile_segment_params
from sparkassets.core.spec.project_file import is_kept_by_spark, profile_key_place, secrets_of, state_place
from sparkassets.core.spec.project_models import BudgetMap, OpenLineageMap, ProfileMap
from sparkassets.core.spec.project_spec import ProjectSpec
from sparkassets.core.spec.resources import compile_pool, compile_spark_conf
from sparkassets.core.spec.rule_checks import CodeCatalog
from sparkassets.core.spec.schedule import compile_schedule
from sparkassets.core.spec.sinks import compile_sinks
from sparkassets.core.spec.source import plain_text
from sparkassets.core.spec.stores import check_named, stores_of
from sparkassets.core.spec.strategy_and_write import check_upsert, compile_strategy, compile_unchanged
from sparkassets.core.spec.time_bounds import TimeBounds
from sparkassets.core.spec.unlisted_segments import find_segments_from_rows, find_unlisted_segments
from sparkassets.core.spec.validations import compile_rules, inlet_rules, own_rules, refuse_rules
from sparkassets.core.spec.yaml_document import sort_problems
from sparkassets.core.suggestions import KnownColumns
from sparkassets.core.validations import ValidationRule
from sparkassets.core.writes import WriteMode
from sparkassets.errors import SpecError
from sparkassets.frozen import replace


def compile_project(
    project: ProjectDraft,
    files: AssetFiles,
    code: AssetCode,
    *,
    tables: TableColumns | None = None,
    outlines: OutlineMemo | None = None,
) -> ProjectSpec:
    """Compiles the project from its files, which were read before.

    Args:
        project: The project file.
        files: The asset files.
        code: The code that assets want; ``files.problems`` reports SQL files that cannot be read.
        tables: Looks up the columns of Delta tables that others write; None looks up none.
        outlines: Those of SQL texts that were read before.

    Raises:
        SpecError: With every problem of every file, in order of place.
    """
    compiled = compile_assets(project, files, code, tables=tables, outlines=outlines)
    assets = _mark_followed(_add_views(compiled))
    assets = _add_notify_rules(project, files, assets, code.modules)
    edges = upstream_edges(assets)
    check_together(project, files, assets, edges)
    check_folders(project, files)
    sinks = compile_sinks(
        profile_key_place(project.at, "sinks", project.profile), project.keys.sinks, installed=project.installed.sinks
    )
    check_named(project.keys, files.stores)
    document_problems = (each for draft in files.drafts.values() for each in draft.at.document.problems)
    problems = [*project.problems, *files.problems, *code.macros.problems, *document_problems]
    if problems:
        raise SpecError(sort_problems([*dict.fromkeys(problems)]))  # several assets may use one wrong macro
    ordered = {name: assets[name] for name in sort_topologically(edges)}
    return replace(_make_project_spec(project, files, ordered), sinks=sinks)


def compile_assets(
    project: ProjectDraft,
    files: AssetFiles,
    code: AssetCode,
    *,
    tables: TableColumns | None = None,
    outlines: OutlineMemo | None = None,
) -> dict[str, AssetSpec]:
    """Each asset by name, compiled but not judged together with all others; mistakes become problems of the drafts.

    Its arguments are those of `compile_project`.

    Raises:
        SpecError: There are too many problems to go on.
    """
    drafts = files.drafts
    outlines = outlines or OutlineMemo()
    bodies = {draft.name: compile_body(draft, project, code, outlines) for draft in files.until_too_many()}
    bodies |= {name: join_bodies(outlet_bodies) for name, outlet_bodies in _group_outlet_bodies(files, bodies).items()}
    known_columns = find_known_columns(drafts, bodies, tables)
    catalog = CodeCatalog(project, code.modules, project.installed.checks)
    return _compile_all(project, files, bodies, project.installed.timetables, known_columns, catalog)


def _make_project_spec(project: ProjectDraft, files: AssetFiles, assets: Mapping[str, AssetSpec]) -> ProjectSpec:
    """The project's own settings with its compiled assets, and the warnings of all documents in order of place."""
    keys = project.keys
    return ProjectSpec(
        name=keys.project,
        root=project.root,
        state=state_place(keys.state, root=project.root),
        state_by_spark=is_kept_by_spark(keys.state),
        retention=project.retention,
        warehouse=resolve_path(keys.warehouse, root=project.root),
        folders=project.folders,
        assets=assets,
        timezone=project.timezone,
        python=tuple(keys.python),
        engine=keys.engine,
        spark={key: plain_text(value) for key, value in keys.spark.items()},
        max_parallel_runs=keys.max_parallel_runs,
        ci_fail_on=tuple(keys.ci.fail_on),
        ci_sample=keys.ci.sample,
        pools=keys.pools,
        openlineage=keys.openlineage.namespace if isinstance(keys.openlineage, OpenLineageMap) else keys.openlineage,
        variables=_collect_variables(project, files),
        profile=project.profile,
        profiles=tuple(keys.profiles or ()),
        secrets=secrets_of(project.at, keys, project.profile),
        given={name: plain_text(value) for name, value in _find_profile(project).variables.items()},
        logs=resolve_path(keys.logs, root=project.root) if keys.logs is not None else None,
        storage=stores_of(project.at, keys, project.profile, references=files.stores),
        warnings=tuple(sort_problems([each for draft in files.drafts.values() for each in draft.at.document.warnings])),
    )


def _compile_all(
    project: ProjectDraft,
    files: AssetFiles,
    bodies: Mapping[str, AssetBody],
    timetables: Mapping[str, Factory],
    columns: Mapping[str, KnownColumns],
    code: CodeCatalog,
) -> dict[str, AssetSpec]:
    """All compiled assets by name; outlets follow last, because they are derived from their multi-asset."""
    assets: dict[str, AssetSpec] = {}
    for draft in files.until_too_many():
        if not draft.written_by:
            assets[draft.name] = _compile_asset(draft, project, files, bodies[draft.name], timetables, columns, code)
    for name, draft in files.drafts.items():
        if draft.written_by:
            assets[name] = _compile_outlet(draft, assets[draft.written_by], files, bodies[name], columns, code)
    return assets


def _compile_asset(
    draft: AssetDraft,
    project: ProjectDraft,
    files: AssetFiles,
    body: AssetBody,
    timetables: Mapping[str, Factory],
    columns: Mapping[str, KnownColumns],
    code: CodeCatalog,
) -> AssetSpec:
    """One asset from its draft and its code; mistakes become problems of the draft, and the rest is compiled.

    Args:
        draft: The asset.
        project: Supplies the defaults.
        files: All assets, which inlets and conditions may name.
        body: The asset's compiled code.
        timetables: Those that installed packages registered, by name.
        columns: All columns of an asset, by its name, where they are known.
        code: The Python functions that validations may call.
    """
    keys, bounds, partitioning, drafts = draft.keys, draft.bounds, draft.partitioning, files.drafts
    inlets, schedule, strategy, write, segment_params = dict[str, InletSpec](), Schedule(), None, None, None
    if not keys.source and draft.are_reliable("source"):
        inlets = _add_inlet_rules(draft, compile_inlets(draft, body.mentions, files, columns=columns), columns, code)
        schedule = _compile_asset_schedule(draft, body, inlets, files, timetables)
        strategy, write = compile_strategy(draft, inlets, schedule, writes=project.installed.writes)
        segment_params = compile_segment_params(draft, strategy)
        _check_template(draft, body, inlets, schedule, files, columns)
        _check_write(draft, body, write)
    wanted_bounds = partitioning.time or (TimeBounds(bounds.timezone) if partitioning.is_partitioned else bounds)
    asset = AssetSpec(
        name=draft.name,
        uri=draft.uri,
        storage=draft.storage,
        location=(draft.at / "asset").location,
        type=keys.type,
        description=keys.description,
        owner=find_owner(draft, project),
        tags=find_tags(draft, project),
        file=draft.file.path,
        extra=keys.extra,
        columns=keys.types,
        listed_columns=compile_columns(draft),
        private=keys.private,
        rules=_compile_own_rules(draft, columns, code),
        source=draft.source,
        inlets=inlets,
        schedule=schedule,
        partitioning=partitioning,
        strategy=strategy,
        write=write,
        schema=keys.schema_change,
        unchanged=compile_unchanged(draft, project, write),
        commit=keys.commit,
        properties=compile_properties(draft),
        partitioned_by=compile_folders(draft),
        body=body.compiled,
        params=keys.params if isinstance(keys.params, dict) else {},
        segment_params=segment_params,
        segments_from_rows=find_segments_from_rows(draft, inlets, files),
        definition=body.definition(draft, write),
        on_code_change=keys.on_code_change,
        timezone=bounds.timezone,
        start=wanted_bounds.start,
        end=wanted_bounds.end,
        paused=keys.paused,
        deadlines=compile_expect(draft.at / "expect", keys.expect, within=bounds),
        outlets=tuple(name for name in keys.outlets or () if name in drafts and drafts[name].written_by == draft.name),
    )
    return _with_run_settings(asset, draft, project)


def _with_run_settings(asset: AssetSpec, draft: AssetDraft, project: ProjectDraft) -> AssetSpec:
    """The asset with what its runs may take and what becomes of failed ones, else as the project's defaults say."""
    keys = draft.keys
    return replace(
        asset,
        pool=compile_pool(draft, project),
        priority=keys.priority,
        spark_conf=compile_spark_conf(draft, project),
        budget=None if keys.source else _compile_budget(keys.budget or project.keys.budget),
        retries=project.keys.defaults.retries if keys.retries is None else keys.retries,
        retry_delay_seconds=draft.seconds["retry_delay"],
        timeout_seconds=draft.seconds["timeout"],
        lease_seconds=draft.seconds["lease"],
    )


def _compile_asset_schedule(
    draft: AssetDraft,
    body: AssetBody,
    inlets: Mapping[str, InletSpec],
    files: AssetFiles,
    timetables: Mapping[str, Factory],
) -> Schedule:
    """The schedule of an asset; none for one whose job runs elsewhere, so that no run of it is ever due."""
    external = compile_external_schedule(draft, body)
    named_inlets = {name: inlet for name, inlet in inlets.items() if not inlet.is_foreign_key_only}
    return external or compile_schedule(draft, named_inlets, files, installed=timetables)


def _group_outlet_bodies(files: AssetFiles, bodies: Mapping[str, AssetBody]) -> dict[str, dict[str, AssetBody]]:
    """For each multi-asset in SQL, the bodies of its outlets."""
    bodies_by_writer: dict[str, dict[str, AssetBody]] = {}
    for name, draft in files.drafts.items():
        if draft.written_by and draft.keys.python is None:
            bodies_by_writer.setdefault(draft.written_by, {})[name] = bodies[name]
    return bodies_by_writer


def _compile_own_rules(
    draft: AssetDraft, columns: Mapping[str, KnownColumns], code: CodeCatalog
) -> tuple[ValidationRule, ...]:
    """The validations of the rows that the asset writes; a source, whose rows nothing can withhold, has none."""
    refuse_rules(draft)
    return compile_rules(own_rules(draft.at, draft.keys), columns.get(draft.name), code)


def _add_inlet_rules(
    draft: AssetDraft, inlets: Mapping[str, InletSpec], columns: Mapping[str, KnownColumns], code: CodeCatalog
) -> dict[str, InletSpec]:
    """The inlets, each with the validations that the YAML lists for it."""
    listed = draft.keys.inlets if isinstance(draft.keys.inlets, dict) else {}
    with_rules = dict(inlets)
    for name, options in listed.items():
        if options is None or not options.validations or name not in inlets:
            continue
        at, inlet = draft.at / "inlets" / name, inlets[name]
        if inlet.waits_only and draft.are_reliable("sql", "python"):
            message = f"the options of {name!r} have no effect: the code does not read it"
            (at / "validations").add_key_problem(message)
        known_columns = columns.get(name)
        known_columns = _columns_as_read(known_columns, inlet) if known_columns is not None else None
        with_rules[name] = replace(
            inlet, rules=compile_rules(inlet_rules(at, options), known_columns, code, of_inlet=True)
        )
    return with_rules


def _compile_outlet(
    draft: AssetDraft,
    writer: AssetSpec,
    files: AssetFiles,
    body: AssetBody,
    columns: Mapping[str, KnownColumns],
    code: CodeCatalog,
) -> AssetSpec:
    """An outlet, compiled from its multi-asset with its own code, columns and validations."""
    _check_template(draft, body, writer.inlets, writer.schedule, files, columns)
    _check_write(draft, body, writer.write)
    return outlets.compile_outlet(draft, writer, body, rules=_compile_own_rules(draft, columns, code))


def _add_notify_rules(
    project: ProjectDraft, files: AssetFiles, assets: Mapping[str, AssetSpec], modules: Mapping[str, ModuleSource]
) -> dict[str, AssetSpec]:
    """The assets with their notification rules: their own, else the project's; for an outlet its multi-asset's."""
    project_rules = compile_notify(project.at / "notify", project.keys.notify, project=project, modules=modules)
    own_rules = {
        name: compile_notify(draft.at / "notify", draft.keys.notify, project=project, modules=modules)
        for name, draft in files.drafts.items()
        if not draft.written_by
    }
    for draft in files.drafts.values():
        refuse_selections(draft.at / "notify", draft.keys.notify)
    drafts, rules_by_selection = files.drafts, narrow_rules(project, project_rules, assets)
    rules_by_asset = {
        name: rules_by_selection[name] if drafts[name].keys.notify is None else rules
        for name, rules in own_rules.items()
    }
    rules = {name: rules_by_asset[draft.written_by or name] for name, draft in drafts.items()}
    return {name: replace(asset, notify=rules[name]) if rules[name] else asset for name, asset in assets.items()}


def _compile_budget(keys: BudgetMap | None) -> RunBudget | None:
    if keys is None:
        return None
    size = parse_size(keys.bytes) if isinstance(keys.bytes, str) else keys.bytes
    return RunBudget(size, keys.seconds)


def _check_template(
    draft: AssetDraft,
    body: AssetBody,
    inlets: Mapping[str, InletSpec],
    schedule: Schedule,
    files: AssetFiles,
    columns: Mapping[str, KnownColumns],
) -> None:
    """Checks the names in the asset's SQL against its inlets, params and schedule; does nothing for Python.

    Checks that need the schedule, the partitions or the inlets are left out where those keys are wrong themselves.
    """
    if body.sql is None:
        return
    faults = check_template(
        body.sql.outline,
        asset=draft.name,
        columns={
            name: _columns_as_read(columns[name], inlets.get(name))
            for name in body.sql.outline.inlets
            if name in columns
        },
        params=draft.param_names,
        dimensions=draft.partitioning.names,
        events=_find_awaited_datasets(inlets, schedule, files) if draft.are_reliable("schedule", "inlets") else None,
        watermarked=any(inlet.read for inlet in inlets.values()),
    )
    statement = find_statement_fault(body.sql.text, body.sql.outline, writes=draft.writes_itself)
    faults += [statement] if statement is not None else []
    from_rows, dimensions = find_segments_from_rows(draft, inlets, files), draft.partitioning.names
    faults += find_unlisted_segments(body.sql.outline, from_rows=from_rows, dimensions=dimensions)
    faults += find_unbraced_assets(body.sql, asset=draft.name, known=files.names_by_table)
    draft.at.document.problems += [body.sql.fault(fault) for fault in faults]


def _check_write(draft: AssetDraft, body: AssetBody, write: WriteMode | None) -> None:
    """Refuses columns and code that the write mode cannot work with."""
    check_partition_columns(draft, body)
    check_listed_columns(draft, body, write)
    check_upsert(draft, body, write)
    check_self_written(draft, body)


def _columns_as_read(known: KnownColumns, inlet: InletSpec | None) -> KnownColumns:
    """The columns that an asset's rows have when they are read by this inlet."""
    if inlet is None or not isinstance(inlet.read, ReadChanges):
        return known
    return replace(known, names=(*known.names, *CHANGE_COLUMNS))


def _mark_followed(assets: Mapping[str, AssetSpec]) -> dict[str, AssetSpec]:
    """The assets, each with whether another asset reads its changes, so that its table keeps a change feed.

    A table that only grows needs none: its added files are the changes.
    """
    read = {
        each.name for asset in assets.values() for each in asset.inlets.values() if isinstance(each.read, ReadChanges)
    }
    followed_names = {name for name in read if (write := assets[name].write) is not None and not write.only_adds}
    return {name: replace(asset, followed=True) if name in followed_names else asset for name, asset in assets.items()}


def _add_views(assets: Mapping[str, AssetSpec]) -> dict[str, AssetSpec]:
    """The assets, each with the views that inlets map by its values.

    Of open segments a view has all that any of its consumers knows.
    """
    views: dict[str, dict[str, Partitioning]] = {}
    for asset in assets.values():
        for inlet in asset.inlets.values():
            if inlet.view is not None:
                asset_views = views.setdefault(inlet.name, {})
                asset_views[inlet.uri] = asset_views.get(inlet.uri, inlet.view).with_segments_of(
                    inlet.view.known_partitions
                )
    return {name: replace(asset, views=views[name]) if name in views else asset for name, asset in assets.items()}


def _find_awaited_datasets(inlets: Mapping[str, InletSpec], schedule: Schedule, files: AssetFiles) -> set[str]:
    """The datasets of inlets and condition, by their URIs and by the names of all their assets."""
    leaves = list(schedule.condition.leaves()) if schedule.condition else []
    names = {*inlets, *(leaf.ref for leaf in leaves if not leaf.is_uri)}
    uris = {files.drafts[name].uri for name in names if name in files.drafts}
    uris |= {leaf.ref for leaf in leaves if leaf.is_uri}
    return names | uris | {name for uri in uris for name in files.names_by_uri.get(uri, ())}


def _collect_variables(project: ProjectDraft, files: AssetFiles) -> dict[str, str]:
    """Environment variables whose values are in the project; variables that the profile sets are no secrets."""
    variables = dict(project.at.document.variables)
    for draft in files.drafts.values():
        variables |= draft.at.document.variables
    variables |= {name: project.environment[name] for name in project.keys.secrets if name in project.environment}
    profile_variables = _find_profile(project).variables
    return {name: value for name, value in variables.items() if name not in profile_variables}


def _find_profile(project: ProjectDraft) -> ProfileMap:
    return (project.keys.profiles or {}).get(project.profile) or ProfileMap()
