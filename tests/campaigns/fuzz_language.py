"""Cuts and mutates every shipped spec: whatever comes in, a diagnostic or a result comes out, never a traceback.

`fuzz_language.py [--mutants N] [--seed N] [--no-derive] [SPECS...]` prints counts, the slowest case and the failures.
"""

from __future__ import annotations

import argparse
import random
import resource
import signal
import sys
import time
import traceback
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import FrameType
from typing import NamedTuple

from kdsl import pipeline
from kdsl.language.diagnostics import KdslError
from kdsl.language.formatter import format_source
from kdsl.language.parser import parse_spec_text
from kdsl.language.report import render_json, render_text
from kdsl.language.source import decode_source

CASE_SECONDS = 20
PIECES: tuple[str, ...] = (
    *"()[]{}<>|+-*/^=:;,.'\"#\\_&~ \n\t\0$?0123456789",
    *("||", "<=", ">=", "!=", "==", "=>", "<>", "**", "..", "\r\n", "\r", "^2", "^0", "^1000", "1/0", "1e308", "inf"),
    *("sum[i] ", "sum[i, j where i != j] ", "argmax[k] ", "where ", " in ", " on ", "(" * 30, ")" * 30, "-" * 30),
    *("xi[i]", "xi'", "y[i]", "w", "w[k]", "b", "phi(x[i])", "<w, phi(x[i])>", "||w||^2", "f(t)", "hinge(", "l", "C"),
    *("\nindex ", "\ndata ", "\nparam ", "\nvar ", "\nkernel ", "\nlet ", "\nloss ", "\nminimize ", "\nmaximize "),
    *(
        "\nsubject to\n",
        "\npredict label(t) = ",
        "\nmodel m\n",
        "s.t.",
        "min",
        " real",
        " real >= 0",
        "H(k)",
        "{-1, 1}",
    ),
    *(
        "ξ",
        "φ",
        "λ",
        "≤",
        "≥",
        "≠",
        "‖",
        "⟨",
        "⟩",
        "Σ",
        "²",
        "·",
        "×",
        "∈",
        "∞",
        "ℝ",
        "ℓ",
        "ξ̂",
        "–",
        "“",
        "С",
        "ᵢ",
        "\ufeff",
    ),
    *("max(", "abs(", "pos(", "square(", "log(", "1/2", "0", "-1", " x ", "1..l", "1..3", "groups", "rbf(gamma = 0.5)"),
)


class Outcome(NamedTuple):
    """How far a case came: "decoded", "parsed", "checked", "derived"; `failure` tells what must never happen."""

    stage: str
    codes: tuple[str, ...]
    failure: str


class Summary(NamedTuple):
    """What a campaign found."""

    cases: int
    stages: Counter[str]
    codes: Counter[str]
    slowest: float
    slowest_case: str
    failures: list[str]


class _TooSlow(Exception):
    pass


def _alarm(number: int, frame: FrameType | None) -> None:
    raise _TooSlow


def judge(data: bytes, derive: bool = True) -> Outcome:
    """Run one case through every pass and check what must hold of it."""
    stage = "read"
    try:
        text = decode_source(data)
        stage = "decoded"
        tree = parse_spec_text(text)
        stage = "parsed"
        for unicode in (None, True, False):
            formatted = format_source(text, unicode)
            if parse_spec_text(formatted) != tree:
                return Outcome(stage, (), f"formatting (unicode={unicode}) changes the tree")
            if format_source(formatted, unicode) != formatted:
                return Outcome(stage, (), f"formatting (unicode={unicode}) is not idempotent")
        checked = pipeline.check(tree, text, "fuzz")
        found = checked.diagnostics
        if checked.model is None:
            if not any(diagnostic.severity == "error" for diagnostic in found):
                return Outcome(stage, (), "neither a model nor an error")
        else:
            stage = "checked"
            if derive:
                pipeline.derive(checked.model)
                stage = "derived"
    except KdslError as error:
        found = error.diagnostics
        if not found:
            return Outcome(stage, (), "an error without a diagnostic")
    except (Exception, RecursionError):
        return Outcome(stage, (), traceback.format_exc(limit=-6))
    try:
        source = data.decode("utf-8", "replace")
        render_text(found, source, "fuzz.kspec", ascii=True)
        render_json(found, source, "fuzz.kspec")
    except Exception:
        return Outcome(stage, (), traceback.format_exc(limit=-6))
    return Outcome(stage, tuple(sorted({diagnostic.code for diagnostic in found})), "")


def truncations(specs: dict[str, bytes]) -> Iterator[tuple[str, bytes]]:
    """Every spec, cut after every byte."""
    for name, data in specs.items():
        for end in range(len(data) + 1):
            yield f"{name}[:{end}]", data[:end]


def mutants(specs: dict[str, bytes], count: int, seed: int) -> Iterator[tuple[str, bytes]]:
    """Specs with a few random changes; the n-th of a seed is always the same."""
    names = sorted(specs)
    for number in range(count):
        choice = random.Random(f"{seed}/{number}")
        name = choice.choice(names)
        data = specs[name]
        for _ in range(choice.choice((1, 1, 1, 2, 2, 3, 5, 12))):
            data = _mutate(data, choice, specs[choice.choice(names)])
        yield f"mutant {number} of {name}, seed {seed}", data


def _mutate(data: bytes, choice: random.Random, other: bytes) -> bytes:
    start = choice.randint(0, len(data))
    end = min(len(data), start + choice.choice((0, 1, 1, 2, 4, 10, 40)))
    piece = data[start:end]
    kind = choice.randrange(9)
    if kind == 0:
        return data[:start] + data[end:]
    if kind == 1:
        return data[:end] + piece * choice.choice((1, 1, 2, 50)) + data[end:]
    if kind in (2, 3, 4):
        return data[:start] + choice.choice(PIECES).encode() + data[start if kind == 2 else end :]
    if kind == 5:
        return data[:start] + bytes([choice.randrange(256 if choice.random() < 0.1 else 128)]) + data[end:]
    if kind == 6:
        there = choice.randint(0, len(other))
        return data[:start] + other[there : there + choice.choice((5, 20, 80))] + data[end:]
    lines, others = data.split(b"\n"), other.split(b"\n")
    line = choice.randrange(len(lines))
    if kind == 7:
        lines[line] = choice.choice(others)
    else:
        there = choice.randrange(len(lines))
        lines[line], lines[there] = lines[there], lines[line]
    return b"\n".join(lines)


def run(cases: Iterable[tuple[str, bytes]], derive: bool = True, progress: bool = False) -> Summary:
    """Judge every case; a case over CASE_SECONDS is a failure."""
    stages: Counter[str] = Counter()
    codes: Counter[str] = Counter()
    failures: list[str] = []
    slowest, slowest_case, number = 0.0, "", 0
    before = signal.signal(signal.SIGALRM, _alarm)
    try:
        for number, (name, data) in enumerate(cases, 1):
            begun = time.perf_counter()
            signal.setitimer(signal.ITIMER_REAL, CASE_SECONDS)
            try:
                outcome = judge(data, derive)
            except _TooSlow:
                outcome = Outcome("slow", (), f"over {CASE_SECONDS} s")
            finally:
                signal.setitimer(signal.ITIMER_REAL, 0)
            taken = time.perf_counter() - begun
            stages[outcome.stage] += 1
            codes.update(outcome.codes)
            if outcome.failure:
                failures.append(f"{name}: {outcome.failure}\n{data!r}")
            if taken > slowest:
                slowest, slowest_case = taken, name
            if progress and number % 5000 == 0:
                print(f"{number} cases, {len(failures)} failures, slowest {slowest:.2f} s", file=sys.stderr, flush=True)
    finally:
        signal.signal(signal.SIGALRM, before)
    return Summary(number, stages, codes, slowest, slowest_case, failures)


def describe(title: str, summary: Summary) -> str:
    """The figures of a campaign, in lines."""
    reached = ", ".join(f"{stage} {count}" for stage, count in summary.stages.most_common())
    codes = ", ".join(f"{code} {count}" for code, count in sorted(summary.codes.items()))
    return (
        f"{title}: {summary.cases} cases, {len(summary.failures)} failures\n"
        f"  furthest pass: {reached}\n"
        f"  codes: {codes}\n"
        f"  slowest: {summary.slowest:.2f} s ({summary.slowest_case})"
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("specs", nargs="*", type=Path)
    parser.add_argument("--mutants", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--no-truncations", action="store_true")
    parser.add_argument("--no-derive", action="store_true")
    options = parser.parse_args()
    root = Path(__file__).resolve().parent.parent.parent
    paths = options.specs or sorted((root / "specs").glob("*.kspec"))
    specs = {path.stem: path.read_bytes() for path in paths}
    failures: list[str] = []
    campaigns = [("mutants", mutants(specs, options.mutants, options.seed))]
    if not options.no_truncations:
        campaigns.insert(0, ("truncations", truncations(specs)))
    for title, cases in campaigns:
        summary = run(cases, not options.no_derive, progress=True)
        print(describe(title, summary), flush=True)
        failures += summary.failures
    for failure in failures[:20]:
        print(failure)
    megabytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"largest memory: {megabytes:.0f} MB")
    return 1 if failures or megabytes > 1024 else 0


if __name__ == "__main__":
    sys.exit(main())
