"""Every configuration: the protocol must pass, each wrong rule must be caught.

``python -m tests.model.suite [PREFIX]`` runs those whose names begin so, in two processes.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from multiprocessing import get_context

from tests.model.checker import LIMIT, Verdict, explore
from tests.model.rules import Rules


@dataclass(frozen=True, slots=True)
class Case:
    """One configuration, and whether it passes."""

    name: str
    passes: bool
    rules: Rules


def _case(name: str, *, passes: bool, **rules: object) -> Case:
    return Case(name, passes, Rules(**rules))  # type: ignore[arg-type]


def passing(name: str, **rules: object) -> Case:
    """The protocol in one scenario."""
    return _case(name, passes=True, **rules)


def wrong(name: str, **rules: object) -> Case:
    """A rule that loses or doubles data."""
    return _case(name, passes=False, **rules)


REPLACE = {"mode": "replace"}
TWO = {"outlets": 2}
LANES = {"lanes": 2, "lane_of_event": (0, 1)}

BY_SPARK = (
    passing("P1 append 2 drivers 3 claims 2 crashes 2 attempts", claims=3, attempts=2),
    passing("P2 append 3 drivers 4 claims 2 crashes", drivers=3, claims=4, timeouts=0),
    passing("P3 append, table missing", claims=3, exists=False, attempts=2),
    passing("P4 replace or upsert with txn", claims=3, attempts=2, **REPLACE),
    passing("P5 replace and backfill in the same lane", claims=4, backfill=0, timeouts=0, crashes=1, **REPLACE),
    passing("P6 replace, table missing, backfill", claims=3, backfill=0, exists=False, **REPLACE),
    passing("P7 append two outlets", claims=3, **TWO),
    passing("P8 append two outlets, tables missing", claims=3, exists=False, timeouts=0, **TWO),
    passing("P9 replace two outlets", claims=3, timeouts=0, **TWO, **REPLACE),
    passing("P10 failure recorded unfenced always", claims=3, fail="dirty", attempts=2),
    passing("P11 two lanes, own appId each, append", claims=4, crashes=1, timeouts=0, **LANES),
    passing("P12 nondeterministic attempts", claims=2, attempts=2, nondeterministic=True),
    passing("P13 append 1 event, 3 drivers, 4 claims, 2 crashes, time-outs", events=1, drivers=3, claims=4),
    passing("P14 append two outlets, 1 event, 3 drivers, 4 claims", events=1, drivers=3, claims=4, timeouts=0, **TWO),
    passing("P15 append, 2 attempts, 2 time-outs, ambiguous errors", claims=3, attempts=2, timeouts=2),
    passing("P16 long chains: 1 event, 3 drivers, 5 claims, 2 crashes", events=1, drivers=3, claims=5, timeouts=0),
    passing("P17 two outlets, 2 attempts, time-out", events=1, claims=3, attempts=2, **TWO),
    passing("P18 two lanes, own appId each, append, 3 drivers", claims=4, timeouts=0, drivers=3, **LANES),
    passing("P19 readers of a shared table, single writer", shared_reader=True, claims=3),
    passing("P20 append, 3 drivers, 4 claims, 2 crashes, time-out", drivers=3, claims=4),
    passing("P21 two outlets, 3 drivers, 4 claims, 2 crashes", drivers=3, claims=4, timeouts=0, **TWO),
    passing("P22 two outlets, tables missing, time-out", claims=3, exists=False, **TWO),
    passing("P23 two lanes, own appId each, table missing", exists=False, claims=4, crashes=1, timeouts=0, **LANES),
    passing("P24 no put-if-absent, the JVM of a dead driver awaited", atomic=False, takeover="jvm_gone", timeouts=0),
    wrong("F1 looks at the last txn after the fence", look="last_after_fence", claims=2, timeouts=0),
    wrong("F2 last txn read before the fence", look="last_before_fence", claims=2, timeouts=0),
    wrong("F2b whole chain, but read before the fence", look="chain_before_fence", claims=2, timeouts=0),
    wrong("F3 history, previous claim only", look="previous", claims=3, timeouts=0),
    wrong("F4 adopts with its own pins", adopt_pins="own", claims=2, timeouts=0),
    wrong("F4r the same, replace", adopt_pins="own", claims=2, timeouts=0, **REPLACE),
    wrong("F5 no fence while the table is missing", fence_missing="skip", exists=False, claims=2, timeouts=0),
    wrong("F6 no fence after a recorded failure", fail="naive", claims=2),
    wrong("F7 trusts the write's return", verify=False, claims=2, fail="naive", timeouts=0),
    wrong("F7b trusts the return; state reset under an old target", verify=False, old_version=99, claims=1, timeouts=0),
    wrong("F8 two commits of one claim", split=True, verify=False, ambiguous=False, claims=1, timeouts=0),
    wrong(
        "F9 parallel lanes share the appId (trusting)",
        **LANES,
        share_app=True,
        verify=False,
        claims=2,
        timeouts=0,
        crashes=0,
    ),
    wrong("F9b the same, outcome verified", share_app=True, claims=4, timeouts=0, crashes=0, **LANES),
    wrong(
        "F10 backfill in a lane of its own, same partitions",
        lanes=2,
        backfill=1,
        claims=2,
        timeouts=0,
        crashes=0,
        **REPLACE,
    ),
    wrong("F11 replace just runs again", look="none", claims=2, timeouts=0, backfill=0, **REPLACE),
    passing("F11b replace just runs again, no backfill", look="none", claims=3, timeouts=0, **REPLACE),
    wrong(
        "F11c replace just runs again; the partition of the dead backfill is not in the next run",
        look="none",
        claims=3,
        timeouts=0,
        events=1,
        backfill=0,
        **REPLACE,
    ),
    wrong("F12 adopts when any outlet has it", multi="any", claims=2, timeouts=0, **TWO),
    wrong("F13 runs all again unless all have it", multi="all_or_rerun", claims=2, timeouts=0, **TWO),
    wrong("F14 rolls forward with own pins", forward_pins="own", claims=2, timeouts=0, **TWO),
    passing("F15 event carries the table's latest version", event_version="latest", claims=3),
    wrong(
        "F15b two lanes, event carries the latest version",
        event_version="latest",
        shared_reader=True,
        claims=2,
        timeouts=0,
        **LANES,
    ),
    wrong("F16 two writers in one table, own commit's version", shared_reader=True, claims=2, timeouts=0, **LANES),
    wrong("F17 MERGE without txn", txn=False, claims=2, timeouts=0, **REPLACE),
    wrong("F18 record unguarded", guard=False, claims=2, timeouts=0),
    wrong(
        "F19 records what its last attempt measured",
        nondeterministic=True,
        record_from="memory",
        attempts=2,
        claims=1,
    ),
    wrong("F20 fence conflict taken as fenced", fence_conflict="ignore", drivers=3, claims=3, timeouts=0, events=1),
    wrong("F21 log store without put-if-absent", atomic=False, claims=2, timeouts=0),
    wrong("F22 never fences, looks only", fence="never", claims=2, timeouts=0),
    wrong("F23 journal reset, outcome verified (loud, but stuck)", old_version=99, claims=3, timeouts=0),
    wrong("F24 fence without comparing versions", fence_check=False, drivers=3, claims=3, timeouts=0, events=1),
    wrong("F25 no put-if-absent, the dead driver alone awaited", atomic=False, takeover="driver_gone", timeouts=0),
)

SMALL = {"commits": "driver", "claims": 2, "timeouts": 0}
KEPT = {**SMALL, "sweep": "never"}
"""Where it is not the staged files that tell what is wrong."""
BY_DRIVER = (
    passing("D1 append, a lost, a late and a foreign put", **SMALL | {"claims": 3, "foreign": 1}),
    passing("D2 append, 2 attempts, time-out", **SMALL | {"events": 1, "claims": 3, "attempts": 2, "timeouts": 1}),
    passing("D3 append, table missing", **SMALL | {"claims": 3, "exists": False, "attempts": 2, "events": 1}),
    passing("D4 replace and backfill", **SMALL | {"claims": 3, "backfill": 0, "crashes": 1, **REPLACE}),
    passing("D5 two outlets, a foreign commit", **SMALL | {"claims": 3, "events": 1, "foreign": 1, **TWO}),
    passing("D6 two outlets, 2 attempts, time-out", **SMALL | {"events": 1, "attempts": 2, "timeouts": 1, **TWO}),
    passing("D7 3 drivers, 4 claims, 2 crashes", **SMALL | {"events": 1, "drivers": 3, "claims": 4}),
    passing("D8 two lanes in one table", **SMALL | {"claims": 4, "crashes": 1, **LANES}),
    passing("D9 a driver sleeps longer than the log is kept", **SMALL | {"claims": 3, "phantoms": 1, "foreign": 1}),
    passing(
        "D10 failure recorded unfenced always", **SMALL | {"claims": 3, "fail": "dirty", "events": 1, "timeouts": 1}
    ),
    wrong("E1 no comparison", **KEPT | {"compare": "never"}),
    wrong("E2 comparison on another snapshot than the one that commits", **KEPT | {"compare": "before"}),
    wrong("E3 another attempt's files after a lost put, not compared", **KEPT | {"compare": "first", "attempts": 2}),
    wrong("E4 rebases without looking at its own transactions", **KEPT | {"rebase": "blindly"}),
    wrong("E5 believes the error of a put", **SMALL | {"verify": False, "fail": "naive"}),
    wrong("E6 believes the success of a put", **SMALL | {"verify": False, "fail": "naive", "phantoms": 1, "late": 0}),
    wrong("E7 believes that a fence is in", **KEPT | {"fenced_when": "answered", "phantoms": 1, "foreign": 1}),
    wrong("E8 takes its own fence for another's", **SMALL | {"fence_equal": "another"}),
    wrong(
        "E9 fences without comparing",
        **KEPT
        | {
            "fence_check": False,
            "fenced_when": "answered",
            "claims": 3,
            "events": 1,
            "drivers": 3,
            "late": 0,
            "crashes": 1,
        },
    ),
    wrong(
        "E10 fence conflict taken as fenced",
        **KEPT | {"fence_conflict": "ignore", "claims": 3, "events": 1, "drivers": 3},
    ),
    wrong("E11 takes over without a fence", **SMALL | {"fence": "never"}),
    wrong("E12 looks before the fence", **SMALL | {"look": "chain_before_fence"}),
    wrong("E13 storage without put-if-absent", **SMALL | {"atomic": False}),
    wrong("E14 no fence after a failure", **KEPT | {"fail": "naive"}),
    wrong("E15 no fence while the table is missing", **SMALL | {"fence_missing": "skip", "exists": False}),
    wrong("E16 removes staged files when it claims", **SMALL | {"sweep": "at_claim"}),
    wrong("E17 removes after the fence, before it looks", **SMALL | {"sweep": "before_look"}),
    wrong("E18 removes its earlier attempts' before it is in", **SMALL | {"sweep": "own_attempts", "attempts": 2}),
    wrong("E19 an attempt that fails removes its files", **SMALL | {"sweep": "on_error"}),
    wrong("E20 who is superseded removes its files", **SMALL | {"sweep": "on_superseded"}),
    wrong("E21 takes a claim's own fence for the end of its attempts", **SMALL | {"sweep": "at_fence"}),
    wrong("E22 goes by another transaction id", **SMALL | {"sweep": "other_lanes", **LANES}),
    wrong("E23 goes by another outlet", **SMALL | {"sweep": "other_outlets", **TWO}),
    wrong("E24 attempts share a folder", **SMALL | {"folder": "no_attempt", "attempts": 2, "timeouts": 1}),
    wrong("E25 folders of a run without the token", **SMALL | {"folder": "no_token", **TWO}),
    wrong(
        "E26 removes what is staged for its run, whichever claim stages",
        **SMALL | {"sweep": "by_run", "timeouts": 1, "events": 1, "late": 0, "crashes": 0, **TWO},
    ),
)
SLOTS = {"lanes": 2, "slots": True, "touches": (("a",), ("b",)), "timeouts": 0, "crashes": 1}
"""Each event is an instance of its own, which any of two slots may claim."""
REPLACING = {**SLOTS, **REPLACE}
OF_SLOTS = (
    passing("C1 append", claims=4, **SLOTS),
    passing("C2 append, 3 drivers, 2 crashes", claims=4, **SLOTS | {"drivers": 3, "crashes": 2}),
    passing("C3 append, table missing", claims=4, exists=False, **SLOTS),
    passing("C4 append, the first rows make the table again", claims=4, remakes=True, **SLOTS),
    passing("C5 replace", claims=4, **REPLACING),
    passing("C6 replace, a table without folders", claims=4, layout="none", **REPLACING),
    passing("C7 replace, time-outs, 2 attempts", claims=3, attempts=2, **REPLACING | {"timeouts": 1}),
    passing("C8 replace and a backfill that overlaps both", claims=4, backfill=0, **REPLACING),
    passing("C9 the same, 3 drivers", claims=3, backfill=0, **REPLACING | {"drivers": 3}),
    passing("C10 replace and a run of the whole table", claims=4, backfill=0, whole=True, **REPLACING),
    passing("C11 replace, table missing", claims=4, exists=False, **REPLACING),
    passing("C12 replace, the first rows make the table again", claims=4, remakes=True, **REPLACING),
    passing("C13 two outlets", claims=3, **REPLACING, **TWO),
    passing("C14 failures recorded unfenced", claims=4, fail="dirty", **REPLACING | {"timeouts": 1}),
    passing("C15 events that overlap wait for each other", claims=4, **REPLACING | {"touches": (("a", "b"), ("b",))}),
    passing("C16 no put-if-absent, one at a time", atomic=False, alone=True, takeover="jvm_gone", claims=4, **SLOTS),
    passing("C17 append by the driver", **SMALL | SLOTS | {"claims": 4}),
    passing("C18 replace by the driver, a foreign commit", **SMALL | REPLACING | {"claims": 3, "foreign": 1}),
    passing("C19 replace and a backfill by the driver", **SMALL | REPLACING | {"claims": 3, "backfill": 0}),
    passing("C20 by the driver, table missing", **SMALL | REPLACING | {"claims": 3, "exists": False}),
    wrong("G1 who overlaps does not wait", claims=2, overlap="ignored", **SLOTS),
    wrong("G2 waits for those alone whose driver is alive", claims=2, overlap="alive", **SLOTS),
    wrong("G3 the same, replace", claims=3, overlap="alive", backfill=0, **REPLACING),
    wrong("G4 a backfill does not wait", claims=3, overlap="ignored", backfill=0, **REPLACING | {"crashes": 0}),
    wrong("G5 a record settles all claims of the asset", claims=3, settles="asset", **SLOTS),
    wrong("G6 the same, replace", claims=3, settles="asset", **REPLACING),
    wrong("G7 slots share the transaction id", claims=4, share_app=True, **SLOTS | {"crashes": 0}),
    wrong(
        "G8 a run of the whole table waits for its own partitions alone",
        claims=3,
        backfill=0,
        whole=True,
        whole_waits=False,
        commits="driver",
        sweep="never",
        late=0,
        **REPLACING | {"crashes": 0},
    ),
    wrong("G9 rows come between unnoticed", claims=2, remakes=True, remake_conflicts=False, **SLOTS),
    wrong("G10 no put-if-absent, two at once", atomic=False, takeover="jvm_gone", claims=2, **SLOTS),
    wrong("G11 looks before the fence", claims=3, look="chain_before_fence", **SLOTS),
    wrong("G12 no fence after a failure", claims=3, fail="naive", **SLOTS | {"timeouts": 1}),
    wrong("G13 takes over with its own pins", claims=3, adopt_pins="own", **SLOTS),
    wrong("G14 never fences", claims=3, fence="never", **SLOTS),
    wrong("G15 goes by the other slot when it removes", **SMALL | SLOTS | {"sweep": "other_lanes"}),
)
CUT: dict[str, object] = {"restores": 1, "timeouts": 0, "events": 1}
"""One table is cut or restored, and a person tells what became of the runs."""
OF_ANSWERS = (
    passing("R1 append", claims=3, **CUT | {"crashes": 1}),
    passing("R2 append, two cuts", claims=3, **CUT | {"restores": 2, "crashes": 1}),
    passing("R3 append, two events", claims=3, **CUT | {"events": 2, "crashes": 1}),
    passing("R4 replace", claims=3, **CUT | REPLACE | {"events": 2, "crashes": 1}),
    passing("R5 append, 3 drivers, 2 crashes", claims=4, drivers=3, **CUT),
    passing("R6 append by the driver", **SMALL | CUT | {"claims": 3}),
    passing("R7 append by the driver, time-outs", **SMALL | CUT | {"claims": 2, "timeouts": 1}),
    passing("R8 append, failures recorded unfenced", claims=3, fail="dirty", **CUT | {"crashes": 1, "timeouts": 1}),
    wrong("H1 the person looks before the fence", claims=2, answer="any_time", **CUT),
    wrong("H2 the same, by the driver", **SMALL | CUT | {"claims": 2, "answer": "any_time"}),
    wrong("H3 the same, replace", claims=3, answer="any_time", **CUT | REPLACE),
)
CASES = BY_SPARK + BY_DRIVER + OF_SLOTS + OF_ANSWERS
LARGE = ("E9", "E10")
"""Wrong rules that only some ten thousand states show."""
SAMPLE = (
    *(case for case in CASES if not case.passes and not case.name.startswith(LARGE)),
    passing("S1 append, 2 attempts", claims=2, attempts=2, timeouts=0),
    passing("S2 two outlets", claims=2, events=1, timeouts=0, **TWO),
    passing("S3 append, by the driver", **SMALL),
    passing("S4 2 attempts, by the driver", **SMALL | {"events": 1, "attempts": 2, "late": 0}),
    passing("S5 two outlets, by the driver", **SMALL | {"events": 1, "late": 0, **TWO}),
    passing("S8 append, a person tells", claims=3, **CUT | {"crashes": 1}),
    passing("S6 two slots, append", claims=2, **SLOTS),
    passing("S7 two slots, replace, a backfill of both", claims=2, backfill=0, **REPLACING),
)
"""What takes seconds."""


def verdict_text(case: Case, verdict: Verdict) -> str:
    """One line, and the way to what was violated."""
    word = {True: "PASS", False: "VIOLATED", None: "UNFINISHED"}[verdict.ok]
    unexpected = "" if verdict.ok is case.passes else "   <<<<<< UNEXPECTED"
    line = f"{word:10} {case.name} | states {verdict.states:,} | {verdict.seconds:.0f} s | {verdict.why}{unexpected}"
    return "\n".join([line, *(f"             - {step}" for step in verdict.trace)])


def one(case: Case) -> tuple[Case, Verdict]:
    """A case and its verdict."""
    return case, explore(case.rules, limit=LIMIT)


def main(prefix: str = "") -> int:
    """Prints every verdict; 1 where one is not as it must be."""
    cases = [case for case in CASES if case.name.startswith(prefix)]
    failed = 0
    with get_context("spawn").Pool(2, maxtasksperchild=1) as pool:
        for case, verdict in pool.imap(one, cases, 1):
            print(verdict_text(case, verdict), flush=True)
            failed += verdict.ok is not case.passes
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
