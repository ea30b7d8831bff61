"""What the runs of an asset share and take: its pool, and its settings of Spark."""

from __future__ import annotations

from typing import Final

from sparkassets.core.credentials import is_secret
from sparkassets.core.spec.drafts import AssetDraft, ProjectDraft
from sparkassets.core.spec.source import plain_text
from sparkassets.core.spec.value_kinds import Plain
from sparkassets.core.suggestions import did_you_mean

_FIXED: Final = ("spark.driver.", "spark.executor.", "spark.jars", "spark.master", "spark.app.", "spark.submit.")
"""How the names of settings begin that a session has from its start on."""
_ZONE: Final = "spark.sql.session.timeZone"


def compile_pool(draft: AssetDraft, project: ProjectDraft) -> str:
    """The pool of an asset; empty for none, and for one that the project does not have, which is a problem."""
    pool = draft.keys.pool
    if pool is None:
        return ""
    if pool not in project.keys.pools:
        known = project.keys.pools
        hint = did_you_mean(pool, known) if known else f"write 'pools: {{{pool}: 2}}' in project.yml"
        (draft.at / "pool").add_problem(f"there is no pool {pool!r} in 'pools' of the project", hint=hint)
        return ""
    return pool


def compile_spark_conf(draft: AssetDraft, project: ProjectDraft) -> dict[str, str]:
    """The settings of Spark for the runs of an asset; those that no run can change are problems."""
    if draft.keys.source:
        if draft.keys.spark_conf:
            (draft.at / "spark_conf").add_key_problem("a source has no runs, so 'spark_conf' has no effect")
        return {}
    for name, value in draft.keys.spark_conf.items():
        if problem := _refuse(name, value):
            (draft.at / "spark_conf" / name).add_key_problem(problem[0], hint=problem[1])
    for name, value in project.keys.defaults.spark_conf.items():
        if problem := _refuse(name, value):
            place = project.at / "defaults" / "spark_conf" / name
            if not any(each.message == problem[0] for each in place.document.problems):
                place.add_key_problem(problem[0], hint=problem[1])
    settings = {**project.keys.defaults.spark_conf, **draft.keys.spark_conf}
    return {name: plain_text(value) for name, value in settings.items()}


def _refuse(name: str, value: Plain) -> tuple[str, str] | None:
    """Why a run cannot have a setting of its own, and what to do; None where it may."""
    if name.startswith(_FIXED) or not name.startswith("spark."):
        return (
            f"{name!r} is not a setting that a run can change",
            "write it to 'spark' in project.yml, for the whole session",
        )
    if name == _ZONE:
        return f"{name!r} cannot be changed: runs are in UTC", "take 'timezone' of the asset"
    if is_secret(name, plain_text(value)):
        return f"{name!r} may be a credential, which no asset holds", "write it to 'spark' in project.yml, as ${NAME}"
    return None
