"""Shows results: a block for each row while it runs, the table of ratios as Markdown, and everything as JSON."""

from __future__ import annotations

import math
import re
from typing import Any

from kdsl.bench.contender import OWN, is_own
from kdsl.bench.judge import measure_of
from kdsl.bench.machine import Machine
from kdsl.bench.own import PHASES
from kdsl.bench.rows import Row
from kdsl.bench.runner import Entry, Ratio, Result

SCHEMA = 1
HEADER = ("problem", "asked", "kdsl", "its gap", "against", "ratio", "peer's gap", "target", "", "what limits it")
VERDICTS = {True: "reached", False: "not reached", None: "-"}
INTRODUCTION = """\
# Results

Written by `kdsl bench GROUP --write`. Ratios are a peer's time over kdsl's; for rows with "/", kdsl's time over its own
for the model after the stroke. Times are the best of several alternating turns; a turn is one run, or as many as fit in
0.3 s, for everybody alike. kdsl's times are those of lowering and solving on NumPy arrays; reading the data and the
certificate are told apart (the processor time has all of them). A peer's are those of its `fit`. Of kdsl's two entries
for prediction, in float64 and float32, the faster is compared: see its time. Every gap is recomputed outside all of
them in float64. ">=": the peer was asked for less and less, never met the tolerance, and ended at the gap shown; or it
was stopped.
"""


def asked(row: Row) -> str:
    return f"{measure_of(row.task.kind)} {row.tol:.0e}".replace("e-0", "e-")


def block(result: Result, machine: Machine) -> str:
    """What every contender did on a row."""
    lines = [f"{result.row.title}; asked: {asked(result.row)}"]
    if result.note:
        lines.append(f"    not run: {result.note}")
        return "\n".join(lines) + "\n"
    entries = [(entry.name, entry) for entry in result.entries]
    if result.base is not None:
        entries.append(("kdsl, the other model", result.base))
    lines += [f"    {name:<30}{_entry_text(entry, result.row)}" for name, entry in entries]
    told = [(_which(result, _against(ratio)), _told(ratio)) for ratio in result.ratios if ratio.ratio is not None]
    width = max(46, *(len(against) + 1 for against, _ in told)) if told else 0
    lines += [f"    {against:<{width}}{ratio}" for against, ratio in told]
    limits = what_limits(result, machine)
    return "\n".join([*lines, *([f"    {limits}"] if limits else [])]) + "\n"


def _entry_text(entry: Entry, row: Row) -> str:
    if entry.outcome in ("not installed", "not run", "failed"):
        return f"{entry.outcome}: {entry.note}"
    text = f"{entry.seconds:10.4f} s {entry.processor:10.4f} s cpu  gap {entry.gap:8.1e}  {_runs(entry.runs)}"
    parts = [f"{name} {float(entry.facts[name]):.4f}" for name in PHASES if name in entry.facts]
    parts += [] if entry.outcome == "passed" else [entry.outcome]
    parts += [entry.note] if entry.note else []
    parts += [f"asked for {entry.asked:.1e}"] if entry.outcome != "stopped" and entry.asked != row.tol else []
    return "  ".join([text, *parts])


def _runs(count: int) -> str:
    return f"{count} turn" + ("" if count == 1 else "s")


def _against(ratio: Ratio) -> str:
    all_ran = "" if ratio.everybody else " (not all ran)"
    if ratio.against == "best peer" and ratio.peer is not None and not ratio.bound:
        return f"fastest peer: {ratio.peer.name}{all_ran}"
    return "against the other model" if ratio.against == "itself" else f"against {ratio.against}{all_ran}"


def _which(result: Result, against: str) -> str:
    """Whose ratio it is where kdsl has more than one entry."""
    several = sum(is_own(entry.name) for entry in result.entries) > 1
    return f"{result.own.name}, {against}" if several else against


def _told(ratio: Ratio) -> str:
    target = "" if ratio.target is None else f"  target {ratio.target:g}: {VERDICTS[ratio.reached]}"
    return _ratio_text(ratio) + target


def _ratio_text(ratio: Ratio) -> str:
    if ratio.ratio is None:
        return "-"
    if math.isnan(ratio.ratio):
        return "kdsl missed it"
    return f"{'>= ' if ratio.bound else ''}{ratio.ratio:.3g}"


def what_limits(result: Result, machine: Machine) -> str:
    """Kernel values computed against the fewest possible, the time each took, and the share of the machine's speed."""
    own, row = result.own, result.row
    facts, n, d = own.facts, row.task.n, row.task.d
    if own.outcome not in ("passed", "missed"):
        return own.note
    if "entries" in facts and float(facts["entries"]) > 0:
        entries = float(facts["entries"])
        seconds = float(facts.get("solve", own.seconds))
        speed = 2.0 * d * entries / seconds / 1e9
        lowering = f"lowering {float(facts['lower']) / own.seconds:.0%}; " if "lower" in facts else ""
        fewest = float(facts["support"]) * n
        return (
            f"{lowering}{entries / max(fewest, 1.0):.2g} nSV l kernel values, {1e9 * seconds / entries:.2g} ns each, "
            f"{speed:.3g} of {machine.gflops:.0f} GFLOP/s"
        )
    if row.task.kind == "ridge" and facts.get("backend") == "direct":
        speed = n**3 / 3.0 / own.seconds / 1e9
        return (
            f"a factorisation, {speed:.3g} of {machine.gflops:.0f} GFLOP/s, {facts.get('refinements', 0)} refinements"
        )
    if "products" in facts:
        rough = f" and {facts['single_products']} in single precision" if "single_products" in facts else ""
        return f"{facts['products']} products with the Gram matrix{rough}"
    if "backend" not in facts:
        return ""
    strategy = f", {facts['strategy']}" if "strategy" in facts else ""
    return f"by {facts['backend']}{strategy}, {facts.get('iterations', 0)} iterations"


def markdown(results: list[Result], machine: Machine) -> str:
    """The table: one line for each ratio."""
    rows = [HEADER]
    for result in results:
        own, limits = result.own, result.note or what_limits(result, machine)
        mine = (f"{own.seconds:.3g} s{own.name.removeprefix(OWN)}", f"{own.gap:.1e}") if own.runs else (own.outcome, "")
        for ratio in result.ratios:
            peer = ratio.peer
            who: str = "itself, without" if ratio.against == "itself" else ratio.against
            if ratio.against == "best peer" and peer is not None and not ratio.bound:
                who = f"fastest: {peer.name}"
            who += "" if ratio.everybody else " (not all ran)"
            gap = "" if peer is None else "stopped" if math.isnan(peer.gap) else f"{peer.gap:.1e}"
            target = (
                "" if ratio.target is None else f"{'at most ' if ratio.against == 'itself' else ''}{ratio.target:g}"
            )
            verdict = "" if ratio.target is None else VERDICTS[ratio.reached]
            rows.append(
                (result.row.title, asked(result.row), *mine, who, _ratio_text(ratio), gap, target, verdict, limits)
            )
    absent = sorted({e.name for result in results for e in result.entries if e.outcome == "not installed"})
    widths = [max(len(row[k]) for row in rows) for k in range(len(HEADER))]
    lines = [
        "| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) + " |" for row in rows
    ]
    lines.insert(1, "|" + "|".join("-" * (width + 2) for width in widths) + "|")
    lines += [f"\nNot installed: {', '.join(absent)}."] if absent else []
    lines += ["", *summary(results)] if len(results) > 1 and not any(result.row.targets for result in results) else []
    return "\n".join(lines) + "\n"


def summary(results: list[Result]) -> list[str]:
    """Of rows without targets: how often each contender met the tolerance, and the geometric mean of the ratios."""
    ran = [result for result in results if result.own.outcome != "not run"]
    told = []
    for name in dict.fromkeys(entry.name for result in ran for entry in result.entries):
        pairs = [(entry, result.own) for result in ran for entry in result.entries if entry.name == name]
        met = [(peer, own) for peer, own in pairs if peer.outcome == "passed"]
        ratios = [peer.seconds / own.seconds for peer, own in met if own.outcome == "passed"]
        mean = (
            f", geometric mean of the ratios {math.exp(sum(map(math.log, ratios)) / len(ratios)):.3g}" if ratios else ""
        )
        told.append(f"- {name}: {len(met)} of {len(pairs)} within the tolerance{mean if not is_own(name) else ''}")
    return told


def section(group: str, results: list[Result], machine: Machine) -> str:
    """A group's part of the results file."""
    told = "".join(f"- {line}\n" for line in machine.lines)
    blocks = "\n".join(block(result, machine) for result in results)
    return f"## {group}\n\n{told}\n{markdown(results, machine)}\n```text\n{blocks}```\n"


def merged(existing: str, group: str, text: str) -> str:
    """The results file with one group's section replaced, or added at the end."""
    parts = re.split(r"(?m)^(?=## )", existing)[1:]
    own = [place for place, part in enumerate(parts) if part.startswith(f"## {group}\n")]
    kept = [text if place in own[:1] else part for place, part in enumerate(parts) if place not in own[1:]]
    if not own:
        kept.append(text)
    return "\n".join([INTRODUCTION, *(part.rstrip() + "\n" for part in kept)])


def as_json(group: str, results: list[Result], machine: Machine) -> dict[str, Any]:
    return {
        "schema": SCHEMA,
        "group": group,
        "machine": {**machine._asdict(), "versions": dict(machine.versions)},
        "rows": [_row_json(result, machine) for result in results],
    }


def _row_json(result: Result, machine: Machine) -> dict[str, Any]:
    return {
        "name": result.row.title,
        "task": result.row.task.kind,
        "measure": measure_of(result.row.task.kind),
        "tolerance": result.row.tol,
        "note": result.note,
        "entries": [_entry_json(entry) for entry in result.entries],
        "base": None if result.base is None else _entry_json(result.base),
        "ratios": [
            {
                "kdsl": result.own.name,
                "against": ratio.against,
                "peer": None if ratio.peer is None else ratio.peer.name,
                "ratio": _number(ratio.ratio),
                "at_least": ratio.bound,
                "target": ratio.target,
                "reached": ratio.reached,
            }
            for ratio in result.ratios
        ],
        "limits": what_limits(result, machine),
    }


def _entry_json(entry: Entry) -> dict[str, Any]:
    numbers = {name: _number(getattr(entry, name)) for name in ("seconds", "processor", "gap", "asked")}
    facts = {name: _number(fact) if isinstance(fact, float) else fact for name, fact in entry.facts.items()}
    return {**entry._asdict(), **numbers, "facts": facts}


def _number(value: float | None) -> float | None:
    """JSON has neither infinities nor what is not a number."""
    return value if value is not None and math.isfinite(value) else None
