"""Builds the files for each place in which a project may run, from the templates beside this file."""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Callable, Collection, Iterable, Mapping
from pathlib import Path
from shutil import which
from typing import Any, Final, Literal

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from sparkassets.core.crons.cron import LAST, DayFields, expand
from sparkassets.errors import InputError
from sparkassets.features.deploy.airflow_graph import AirflowGraph
from sparkassets.features.deploy.owned_files import OwnedContent
from sparkassets.features.deploy.pins import runtime_of
from sparkassets.features.deploy.wheel import ProjectWheel
from sparkassets.frozen import frozen

_QUARTZ_DAYS: Final = ("SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT")
_SYSTEMD_DAYS: Final = ("Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat")
_MINUTES, _HOURS, _MONTHS = range(60), range(24), range(1, 13)


def to_quartz(cron: str) -> str:
    """The cron in Quartz's syntax, which begins with seconds.

    Raises:
        InputError: It is none, or Quartz cannot say it.

    >>> to_quartz("*/30 6 * * MON-FRI"), to_quartz("0 0 L * *")
    ('0 0,30 6 ? * MON,TUE,WED,THU,FRI', '0 0 0 L * ?')
    """
    minutes, hours = _split_times(cron)
    days = _find_days(cron, "Quartz")
    weekdays = ",".join(_QUARTZ_DAYS[day] for day in _order_weekdays(days))
    dates = ",".join("L" if day == LAST else str(day) for day in sorted(days.days or ())) or "*"
    clock = f"0 {_format_values(minutes, _MINUTES)} {_format_values(hours, _HOURS)}"
    return f"{clock} {'?' if weekdays else dates} {_format_values(days.months, _MONTHS)} {weekdays or '?'}"


def to_on_calendar(cron: str, timezone: str) -> str:
    """The cron as ``OnCalendar`` of a systemd timer.

    Raises:
        InputError: It is none, or systemd cannot say it.

    >>> to_on_calendar("*/30 6 * 1,7 MON-FRI", "Europe/Berlin")
    'Mon,Tue,Wed,Thu,Fri *-1,7-* 6:0,30:00 Europe/Berlin'
    """
    minutes, hours = _split_times(cron)
    days = _find_days(cron, "systemd")
    if LAST in (days.days or ()) and len(days.days or ()) > 1:
        raise InputError(
            f"cron '{cron}' combines the last day of the month with other days, which systemd cannot express"
        )
    weekdays = ",".join(_SYSTEMD_DAYS[day] for day in _order_weekdays(days))
    months = _format_values(days.months, _MONTHS)
    dates = (
        "~1" if days.days == frozenset({LAST}) else "-" + (",".join(str(day) for day in sorted(days.days or ())) or "*")
    )
    clock = f"{_format_values(hours, _HOURS)}:{_format_values(minutes, _MINUTES)}:00"
    return " ".join(filter(None, [weekdays, f"*-{months}{dates}", clock, timezone]))


def _split_times(cron: str) -> tuple[frozenset[int], frozenset[int]]:
    """The minutes and the hours of a cron."""
    times = [divmod(second // 60, 60) for second in expand(cron).times]
    return frozenset(minute for _, minute in times), frozenset(hour for hour, _ in times)


def _find_days(cron: str, scheduler: str) -> DayFields:
    """The day fields of a cron.

    Raises:
        InputError: ``scheduler`` cannot express them.
    """
    days = expand(cron).days
    if days.days is not None and days.weekdays is not None:
        hint = "give either days of the month or weekdays"
        raise InputError(
            f"cron '{cron}' combines days of the month with weekdays, which {scheduler} cannot express", hint=hint
        )
    if days.nearest or any(nth for _, nth in days.weekdays or ()):
        hint = "give days of the month or weekdays as plain numbers"
        raise InputError(f"cron '{cron}' uses W, # or L of a weekday, which {scheduler} writes differently", hint=hint)
    return days


def _order_weekdays(days: DayFields) -> list[int]:
    """Weekdays by their numbers in a cron, where 0 is Sunday, from Monday to Sunday."""
    return sorted((day for day, _ in days.weekdays or ()), key=lambda day: (day - 1) % 7)


def _format_values(values: Collection[int], every: range) -> str:
    """The values separated by commas; a star if they are all possible ones."""
    return "*" if len(values) == len(every) else ",".join(map(str, sorted(values)))


Kind = Literal["databricks", "airflow", "kubernetes", "cron", "systemd"]
_FilesByPath = dict[str, OwnedContent]
_TEMPLATES: Final = Path(__file__).parent / "templates"
_OLDEST_RUNTIME: Final = 15
"""Major version of the first Databricks Runtime with Python 3.11."""
_START_OF_TIME: Final = 2025
"""A past year, so that the first start is due at the next tick."""


@frozen
class DeploymentSpec:
    """A deployment: the command, its schedule and its place.

    Attributes:
        project: Name of the project.
        folder: The project's folder on this machine, absolute.
        out: Folder that the files are written to, absolute.
        selection: Arguments of ``sparkassets run`` in every place that choose assets.
        settings: Arguments of every command that set variables.
        profile: The active profile; empty without one.
        profiles: All profiles, in a bundle its targets; the first is the default.
        cron: When it starts.
        timezone: Time zone of ``cron``.
        loop: The pause between two ticks of an endless loop, which ignores ``cron``; None for a start that ends.
        variables: Variables of the environment that the project needs.
        wheel: Wheel of the project, where it does not run in its folder.
        library: File name of an enclosed wheel of sparkassets; empty to install from an index.
        timeout: Seconds after which an unfinished start is stopped.
        mail: Address notified of a failed start; empty for none.
        cluster: Runtime and node type of a job cluster; None for serverless.
        environment: Version of the serverless environment.
        group: Group that may start and see the job; empty for none.
        command: The command that starts sparkassets on this machine.
        airflow: The tasks and datasets of a DAG.
    """

    project: str
    folder: str
    out: str
    selection: tuple[str, ...] = ()
    settings: tuple[str, ...] = ()
    profile: str = ""
    profiles: tuple[str, ...] = ()
    cron: str = "0 * * * *"
    timezone: str = "UTC"
    loop: str | None = None
    variables: tuple[str, ...] = ()
    wheel: ProjectWheel | None = None
    library: str = ""
    timeout: int = 86_400
    mail: str = ""
    cluster: tuple[str, str] | None = None
    environment: int = 4
    group: str = ""
    command: tuple[str, ...] = ("sparkassets",)
    airflow: AirflowGraph = AirflowGraph()

    @property
    def name(self) -> str:
        """Name of the deployment, unique among projects and profiles."""
        return f"{self.project}_{self.profile}" if self.profile else self.project

    @property
    def resource(self) -> str:
        """The name in lower case and without underscores, as Kubernetes and systemd need it."""
        return self.name.lower().replace("_", "-").strip("-")

    @property
    def run_command(self) -> tuple[str, ...]:
        """The command and its arguments, without project and profile."""
        return ("run", *self.selection, *self.settings, *(("--loop", self.loop) if self.loop else ()))

    @property
    def local_options(self) -> tuple[str, ...]:
        """The project and the profile on this machine."""
        return ("--project", self.folder, *(("--profile", self.profile) if self.profile else ()))

    @property
    def local_command(self) -> tuple[str, ...]:
        """The whole command line on this machine."""
        return (*self.command, *self.run_command, *self.local_options)


def build_files(kind: Kind, deployment: DeploymentSpec) -> Mapping[str, OwnedContent]:
    """The files of a deployment, by their paths in its folder.

    Raises:
        InputError: The place does not support the deployment.
    """
    return _BUILDERS[kind](deployment)


def _make_databricks(deployment: DeploymentSpec) -> _FilesByPath:
    """The file of a bundle."""
    if deployment.loop is None:
        to_quartz(deployment.cron)  # refuses a cron that Quartz cannot express
    _refuse_templates(deployment.run_command, ("${",), "Databricks")
    _refuse_runtime(deployment)
    return {"databricks.yml": _render_template("databricks.yml.j2", deployment, quartz=to_quartz)}


def _make_airflow(deployment: DeploymentSpec) -> _FilesByPath:
    """A DAG file."""
    _refuse_loop(deployment, "tasks of Airflow are expected to end")
    _refuse_templates(deployment.local_command, ("{{", "{%", "{#"), "Airflow")
    variables: dict[str, Any] = {
        "graph": deployment.airflow,
        "command": _list_texts(deployment.command),
        "options": _list_texts((*deployment.settings, *deployment.local_options)),
        "year": _START_OF_TIME,
        "java": _find_java_home(),
    }
    return {f"{deployment.name}.py": _render_template("airflow.py.j2", deployment, **variables)}


def _make_kubernetes(deployment: DeploymentSpec) -> _FilesByPath:
    """A manifest and a Dockerfile."""
    if deployment.mail:
        raise InputError("--mail: Kubernetes sends no mail", hint="use the project's `notify`")
    name = "deployment.yaml" if deployment.loop else "cronjob.yaml"
    return {
        name: _render_template("kubernetes.yaml.j2", deployment, literal=_escape_kubernetes),
        "Dockerfile": _render_template("Dockerfile.j2", deployment),
    }


def _make_cron(deployment: DeploymentSpec) -> _FilesByPath:
    """A crontab and the script that it starts."""
    _refuse_loop(deployment, "jobs of cron are expected to end")
    script = Path(deployment.out, f"{deployment.name}.sh")
    variables: dict[str, Any] = {
        "line": _join_words(deployment.local_command),
        "java": _find_java_home(),
        "log": str(script.with_suffix(".log")),
    }
    return {
        "crontab": _render_template("crontab.j2", deployment, line=_join_words((str(script),)).replace("%", "\\%")),
        script.name: _render_template("run.sh.j2", deployment, **variables, executable=True),
    }


def _make_systemd(deployment: DeploymentSpec) -> _FilesByPath:
    """A service and, unless it loops, a timer."""
    if deployment.mail:
        raise InputError("--mail: systemd sends no mail", hint="use the project's `notify`, or an OnFailure= unit")
    unit = f"sparkassets-{deployment.resource}"
    line = " ".join(map(_quote_unit_word, deployment.local_command))
    java = _escape_unit_text(f"JAVA_HOME={java_home}") if (java_home := _find_java_home()) else ""
    files = {f"{unit}.service": _render_template("service.j2", deployment, line=line, java=java, unit=unit)}
    if deployment.loop is None:
        when = to_on_calendar(deployment.cron, deployment.timezone)
        files[f"{unit}.timer"] = _render_template("timer.j2", deployment, when=when)
    return files


_BUILDERS: Final[Mapping[Kind, Callable[[DeploymentSpec], _FilesByPath]]] = {
    "databricks": _make_databricks,
    "airflow": _make_airflow,
    "kubernetes": _make_kubernetes,
    "cron": _make_cron,
    "systemd": _make_systemd,
}


def _refuse_loop(deployment: DeploymentSpec, why: str) -> None:
    if deployment.loop is not None:
        raise InputError(f"--loop: {why}", hint="leave it out, or deploy to databricks, kubernetes or systemd")


def _refuse_runtime(deployment: DeploymentSpec) -> None:
    """Refuses a Databricks Runtime and a serverless environment whose Python is older than 3.11.

    Raises:
        InputError: It is older than `_OLDEST_RUNTIME`.
    """
    if runtime_of(deployment.cluster, deployment.environment) < _OLDEST_RUNTIME:
        option, named = (
            ("--cluster", deployment.cluster[0]) if deployment.cluster else ("--environment", deployment.environment)
        )
        hint = "use --cluster 15.4.x-scala2.12 or a newer one, or serverless --environment 2 or a newer one"
        raise InputError(f"{option} {named}: its Python is older than 3.11", hint=hint)


def _refuse_templates(words: tuple[str, ...], marks: tuple[str, ...], place: str) -> None:
    """Refuses arguments that the place would change by filling in a template.

    Raises:
        InputError: A word holds a template of the place that it runs in.
    """
    for word in words:
        if mark_found := next((mark for mark in marks if mark in word), None):
            hint = "edit the generated file by hand if you need it"
            raise InputError(f"{place} substitutes {mark_found} in arguments: {word}", hint=hint)


def _find_java_home() -> str:
    """The home of this machine's Java, as services without a shell lack JAVA_HOME; empty if unknown."""
    java = which("java")
    return os.environ.get("JAVA_HOME") or (str(Path(java).resolve().parents[1]) if java else "")


def _join_words(words: tuple[str, ...]) -> str:
    return shlex.join(words)


def _quote_unit_word(word: str) -> str:
    """A word of a command line, quoted for a unit of systemd, which would fill in ``$NAME``."""
    escaped = _escape_unit_text(word).replace("$", "$$")
    is_plain = escaped == word and word and not any(each.isspace() or each in "'\";" for each in word)
    return word if is_plain else f'"{escaped}"'


def _escape_unit_text(text: str) -> str:
    """Text escaped for quotes in a unit of systemd, on one line; ``%`` begins a specifier there."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%")
    return "".join(each if each.isprintable() else _hex_escape(each) for each in escaped)


def _hex_escape(character: str) -> str:
    return "".join(f"\\x{byte:02x}" for byte in character.encode())


def _escape_kubernetes(text: str) -> str:
    """An argument escaped for Kubernetes, which would fill in ``$(NAME)``."""
    return text.replace("$", "$$")


def _quote_text(text: str) -> str:
    """A text as a JSON string, valid also in YAML and Python; escaped where it has characters that YAML refuses."""
    return json.dumps(text, ensure_ascii=not text.isprintable())


def _list_texts(words: Iterable[str]) -> str:
    """The words as a list in Python."""
    return f"[{', '.join(map(_quote_text, words))}]"


def _render_template(
    template: str,
    deployment: DeploymentSpec,
    *,
    executable: bool = False,
    **more: Any,  # noqa: ANN401
) -> OwnedContent:
    """A template's text; ``q`` in it quotes for YAML and Python, ``sh`` for a shell."""
    environment = Environment(  # noqa: S701  no HTML
        loader=FileSystemLoader(_TEMPLATES),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters["q"] = _quote_text
    environment.filters["sh"] = shlex.quote
    text = environment.get_template(template).render(d=deployment, **more)
    return OwnedContent(text.encode(), executable)
