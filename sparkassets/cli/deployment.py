"""The work of `deploy`: checks the project, collects its files, builds those for the place and writes them."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path

from sparkassets.cli.options import name_select_option, open_project, variables
from sparkassets.core.credentials import secret_in_text
from sparkassets.core.crons.cron import expand
from sparkassets.core.instants import Duration, find_zone
from sparkassets.core.phrases import escape_unwritable, few, listing
from sparkassets.core.spec.model import AssetSpec
from sparkassets.core.spec.project_spec import ProjectSpec
from sparkassets.core.spec.selection import select_assets
from sparkassets.core.timetables.ticks import AS_CRONS
from sparkassets.core.variables import PROFILE, merge_requested
from sparkassets.errors import InputError
from sparkassets.features.deploy import (
    DeploymentSpec,
    Kind,
    ProjectWheel,
    Tasks,
    WrittenFiles,
    build_files,
    build_wheel,
    draw_airflow_graph,
    pin_requirements,
    requirements_of,
    runtime_of,
    write_owned,
)
from sparkassets.features.deploy.owned_files import OwnedContent
from sparkassets.frozen import frozen
from sparkassets.project.compile_trace import CompileTrace, TracedVariables
from sparkassets.project.project_folder import compile_folder

_VOLUMES = ("/Volumes/", "/dbfs/", "dbfs:/")
"""Where Databricks mounts files that are in object stores."""
_WHEEL_KINDS = ("databricks", "kubernetes")
"""Kinds of deployment that pack the project's folder into a wheel."""


@frozen
class DeployRequest:
    """Arguments of a `deploy` command.

    Attributes:
        folder: The project's folder.
        out: The folder that the files are written to.
        set_variables: Variables given by ``--set``.
        timezone: Time zone of ``cron``; by default the project's.
        library: A wheel of sparkassets.
        cluster: As in `DeploymentSpec`, like ``environment``, ``group`` and ``mail``.
        timeout: Time after which an unfinished start is stopped.
        force: Whether to write over files that were changed by hand.
        tasks: Which tasks a DAG has.
        on: Assets and dataset URIs whose events in Airflow start the DAG.
    """

    folder: Path
    out: Path
    set_variables: Mapping[str, str]
    select: tuple[str, ...] = ()
    cron: str = "0 * * * *"
    timezone: str | None = None
    loop: str | None = None
    force: bool = False
    library: Path | None = None
    cluster: tuple[str, str] | None = None
    environment: int = 4
    group: str = ""
    mail: str = ""
    timeout: str = "1d"
    tasks: Tasks = "one"
    on: tuple[str, ...] = ()


def write_deployment(kind: Kind, request: DeployRequest) -> tuple[DeploymentSpec, WrittenFiles, list[str]]:
    """Writes the files of a deployment.

    Returns (the deployment, what happened to each file, sentences for people: one for each profile that is left out,
    and one for each package whose version may change).

    Raises:
        InputError: The project cannot run there, or files were changed by hand.
        SpecError: Something is wrong with the project's files.
    """
    project = open_project(request.folder).spec
    request = replace(request, cron=" ".join(AS_CRONS.get(request.cron, request.cron).split()))
    selected = _check(request, project)
    environment = variables()
    profiles, left_out = _default_first(project.profiles, project.profile), list[str]()
    if kind == "kubernetes":
        _refuse_inside(project)
    elif kind == "databricks":
        if request.cluster is None:
            _refuse_serverless(project, selected)
        profiles, left_out = _targets(project, environment, request.set_variables)
    wheel: ProjectWheel | None = None
    if kind in _WHEEL_KINDS:
        wheel, open_requirements = _wheel(kind, project, environment, request)
        left_out += open_requirements
    # variables that neither --set nor `secrets` gives must be in the environment there
    deployment = DeploymentSpec(
        project=project.name,
        folder=project.root,
        out=str(request.out.absolute()),
        selection=tuple(word for each in request.select for word in ("--select", each)),
        settings=_settings(request.set_variables),
        profile=project.profile,
        profiles=profiles,
        cron=request.cron,
        timezone=request.timezone or project.timezone,
        loop=request.loop,
        variables=tuple(sorted(project.variables.keys() - request.set_variables.keys() - project.secrets.keys())),
        wheel=wheel,
        library=request.library.name if request.library is not None else "",
        cluster=request.cluster,
        environment=request.environment,
        group=request.group,
        mail=request.mail,
        timeout=_seconds(request.timeout),
        command=(sys.executable, "-m", "sparkassets"),
    )
    if kind == "airflow":
        graph = draw_airflow_graph(project, selected, name=deployment.name, tasks=request.tasks, on=request.on)
        deployment = replace(deployment, airflow=graph)
    files = dict(build_files(kind, deployment))
    if wheel is not None:
        files[f"dist/{wheel.name}"] = OwnedContent(wheel.data)
        if request.library is not None:
            files[f"dist/{request.library.name}"] = OwnedContent(request.library.read_bytes())
    return deployment, write_owned(request.out, files, force=request.force), left_out


def _check(request: DeployRequest, project: ProjectSpec) -> tuple[str, ...]:
    """The selected assets; checks the other options before any file is written.

    Raises:
        InputError: A path cannot stand in the generated files, or a run there would refuse an option.
    """
    for place in (str(request.out.absolute()), project.root):
        if escape_unwritable(place) != place:
            raise InputError(f"the path {escape_unwritable(place)} is not UTF-8, but the generated files must name it")
        if not place.isprintable():
            raise InputError(f"the path {place!r} contains a control character such as a line break")
    with name_select_option():
        selected = select_assets(project.assets, request.select, project=project.name, find_states=dict)
    expand(request.cron)  # these three raise for what is no cron expression, time zone or duration
    find_zone(request.timezone or project.timezone)
    if request.loop is not None:
        Duration.parse(request.loop)
    return selected


def next_commands(kind: Kind, deployment: DeploymentSpec, out: Path) -> list[str]:
    """The commands to type next."""
    change_folder = f"cd {shlex.quote(str(out))}"
    unit = f"sparkassets-{deployment.resource}"
    match kind:
        case "databricks":
            target = deployment.profiles[0]
            return [
                f"{change_folder} && databricks bundle validate -t {target}",
                f"{change_folder} && databricks bundle deploy -t {target}",
            ]
        case "airflow":
            return [f"cp {shlex.quote(str(out / f'{deployment.name}.py'))} $AIRFLOW_HOME/dags/"]
        case "kubernetes":
            file = "deployment.yaml" if deployment.loop else "cronjob.yaml"
            version = deployment.wheel.version.replace("+", "-") if deployment.wheel else ""
            return [
                f"{change_folder} && docker build -t {deployment.resource}:{version} .",
                f"{change_folder} && kubectl apply -f {file}",
            ]
        case "cron":
            script, line = str((out / f"{deployment.name}.sh").absolute()), shlex.quote(str(out / "crontab"))
            # the shell and grep see the script's path as the crontab has it: quoted, with % escaped for cron
            other_lines = (
                f"crontab -l 2>/dev/null | grep -vF {shlex.quote(shlex.quote(script).replace('%', chr(92) + '%'))}"
            )
            return [f"({other_lines}; tail -n 1 {line}) | crontab -"]
        case "systemd":
            unit_to_start = f"{unit}.service" if deployment.loop else f"{unit}.timer"
            return [
                f"cp {shlex.quote(str(out))}/{unit}.* ~/.config/systemd/user/",
                f"systemctl --user daemon-reload && systemctl --user enable --now {unit_to_start}",
            ]


def _default_first(profiles: Sequence[str], usual: str) -> tuple[str, ...]:
    return tuple(sorted(profiles, key=lambda each: each != usual))


def _settings(set_variables: Mapping[str, str]) -> tuple[str, ...]:
    """The options that set variables there.

    Raises:
        InputError: A value would write a credential into a file.
    """
    for name, value in set_variables.items():
        if secret_in_text(f"{name}={value}") or secret_in_text(value):
            hint = "use an environment variable there"
            raise InputError(f"--set {name} would write a credential into a file", hint=hint)
    return tuple(word for name, value in set_variables.items() for word in ("--set", f"{name}={value}"))


def _seconds(timeout: str) -> int:
    """A timeout in seconds.

    Raises:
        InputError: It is not positive, or has months, whose length varies.
    """
    duration = Duration.parse(timeout)
    seconds = duration.days * 86_400 + duration.seconds
    if duration.months or seconds <= 0:
        raise InputError(f"invalid --timeout {timeout}; expected a duration such as 6h or 1d")
    return seconds


def _wheel(
    kind: Kind, project: ProjectSpec, environment: Mapping[str, str], request: DeployRequest
) -> tuple[ProjectWheel, list[str]]:
    """The wheel with the project's files, and a sentence for each requirement whose version may change.

    On Kubernetes its requirements include Spark, and the image keeps what it installs. On Databricks every job installs
    them anew, so they are pinned.
    """
    files = collect_files(project, environment)
    library = "sparkassets" if request.library is not None else f"sparkassets=={version('sparkassets')}"
    requirements, notes = requirements_of(project, library, spark=kind == "kubernetes"), list[str]()
    if kind == "databricks":
        runtime = runtime_of(request.cluster, request.environment)
        requirements, notes = pin_requirements(requirements, runtime=runtime)
    folder = Path(project.root).name
    return build_wheel(project.name, files, folder=folder, base=version("sparkassets"), requires=requirements), notes


def _targets(
    project: ProjectSpec, environment: Mapping[str, str], set_variables: Mapping[str, str]
) -> tuple[tuple[str, ...], list[str]]:
    """Profiles with a target in the bundle, the default one first; then a sentence for each that has none.

    Given ``--profile``, only that one is taken. Otherwise profiles whose state or tables are on this machine are left
    out, as long as another profile remains.

    Raises:
        InputError: A profile cannot run there, or there is none.
    """
    if not project.profiles:
        hint = "write `profiles: {dev: {…}, prod: {…}}` into project.yml, each with its own state and warehouse"
        raise InputError("a bundle needs a target for each profile, but the project has no `profiles`", hint=hint)
    from sparkassets.wiring import Project

    requested_profile = environment.get(PROFILE)
    targets, refused = list[str](), dict[str, InputError]()
    for name in (requested_profile,) if requested_profile else _default_first(project.profiles, project.profile):
        profiled_project = Project.load(project.root, env=merge_requested(environment, profile=name, given={})).spec
        try:
            _refuse_inside(profiled_project)
        except InputError as error:
            refused[name] = error
            continue
        _refuse_unset(profiled_project, set_variables)
        _refuse_volumes(profiled_project)
        targets.append(name)
    if not targets:
        raise next(iter(refused.values()))
    return tuple(targets), [f"unknown target {name!r}: {error.args[0]}" for name, error in refused.items()]


def _refuse_unset(project: ProjectSpec, set_variables: Mapping[str, str]) -> None:
    """Refuses a project that needs variables, or notifies receivers, which a task's environment lacks."""
    name = project.profile
    missing = sorted(project.variables.keys() - set_variables.keys() - project.secrets.keys())
    if missing:
        hint = f"set {listing(missing, last='and')} under `variables` of the profile, or by --set"
        raise InputError(
            f"profile {name!r} takes {few(missing)} from the environment, which tasks do not have", hint=hint
        )
    receivers = {each for asset in project.assets.values() for rule in asset.notify for each in rule.to}
    if unknown := sorted(receivers - project.secrets.keys() - project.given.keys() - set_variables.keys()):
        hint = f"declare it: `secrets: {{{unknown[0]}: {{scope: …, key: …}}}}`"
        raise InputError(f"`notify` names {few(unknown)}, which is not set in a task's environment", hint=hint)


def _refuse_inside(project: ProjectSpec) -> None:
    """Refuses a state or tables in the project's folder or beside it: there that folder is a part of a wheel."""
    parent = Path(project.root).parent
    places = {"the state": project.state, "the warehouse": project.warehouse}
    places |= {
        f"asset {each.name!r}": each.storage.path for each in project.assets.values() if each.storage is not None
    }
    for subject, place in places.items():
        if "://" not in place and Path(place).is_relative_to(parent):
            under = f" under profile {project.profile!r}" if project.profile else ""
            shown = os.path.relpath(place, project.root)
            hint = "give it an absolute path or a URI, such as s3://lake/shop"
            raise InputError(
                f"{subject}{under} is in the project's folder ({shown}), but the deployment runs elsewhere", hint=hint
            )


def _refuse_volumes(project: ProjectSpec) -> None:
    """Refuses a state and tables that the driver would commit to on a volume, which has no hard links.

    (https://github.com/delta-io/delta-rs/issues/2540)
    """
    places = {} if project.state_by_spark else {"the state": project.state}
    places |= {
        f"asset {each.name!r}": each.storage.path
        for each in project.assets.values()
        if each.source is None and each.storage is not None and each.commit != "spark" and not _is_of_code(each)
    }
    for subject, place in places.items():
        if place.startswith(_VOLUMES):
            hint = "give it a bucket, or a catalog: `state: {catalog: main, schema: ops}`, and `table:` for an asset"
            message = f"{subject} under profile {project.profile!r} is on a volume ({place}), where nobody can commit"
            raise InputError(f"{message} to a Delta table but Spark", hint=hint)


def _is_of_code(asset: AssetSpec) -> bool:
    """Whether the asset's own code writes its files."""
    return asset.write is not None and asset.write.is_of_code


def _refuse_serverless(project: ProjectSpec, selected: Sequence[str]) -> None:
    """Refuses assets that a serverless session cannot compute: it takes none of the settings that they need."""
    hint = "give it a cluster: --cluster 17.3.x-scala2.13 i3.xlarge"
    for asset in (project.assets[name] for name in selected):
        if asset.write is not None and asset.write.by_keys:
            raise InputError(
                f"asset {asset.name!r} is merged by keys, which serverless compute does not allow", hint=hint
            )
        if asset.spark_conf:
            raise InputError(
                f"asset {asset.name!r} has 'spark_conf', which serverless compute does not allow", hint=hint
            )


_BYTECODE_FOLDER = "__pycache__"
MOST_BYTES = 100 * 1024 * 1024
"""The most bytes of all files together: they are code and YAML, no data."""


def collect_files(project: ProjectSpec, env: Mapping[str, str]) -> dict[str, bytes]:
    """Path to content of the files to take along; paths begin at the folder around the project's.

    That folder counts, because packages may lie beside the project's folder.
    These are the files that the project is compiled from, and all files of the packages that functions come from.

    Raises:
        InputError: A file lies outside that folder, or together they are too large.
        SpecError: Something is wrong with the project's files.
    """
    root = Path(project.root)
    trace = CompileTrace()
    compile_folder(root, trace, env=TracedVariables(env, trace))
    paths = {Path(path) for path, digest in trace.files.items() if digest}
    paths |= set(_package_files(project, root))
    files: dict[str, bytes] = {}
    for path in sorted(paths):
        if not path.is_relative_to(root.parent):
            raise InputError(
                f"{str(path)!r} is part of the project, but outside {str(root.parent)!r}",
                hint="deployed files must be in the project's folder or beside it",
            )
        files[path.relative_to(root.parent).as_posix()] = path.read_bytes()
    size = sum(map(len, files.values()))
    if size > MOST_BYTES:
        raise InputError(f"the files of the project have {size:,} bytes; expected at most {MOST_BYTES:,}")
    return files


def _package_files(project: ProjectSpec, root: Path) -> Iterator[Path]:
    """All files of the allowed packages, data files included, without hidden and compiled ones."""
    for package in project.python:
        for base in (root, root.parent):  # a package is searched in the project's folder and beside it
            place = base / package.replace(".", "/")
            if place.with_suffix(".py").is_file():
                yield place.with_suffix(".py")
            for path in sorted(place.rglob("*")) if place.is_dir() else ():
                inside = path.relative_to(place).parts
                if (
                    path.is_file()
                    and _BYTECODE_FOLDER not in inside
                    and not any(each.startswith(".") for each in inside)
                ):
                    yield path
