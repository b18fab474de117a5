"""Time kdsl against every installed peer on problems that can be repeated, and judge every answer alike."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from kdsl.cli.terminal import Console
from kdsl.cli.usage import UsageError

RESULTS = "benchmarks/RESULTS.md"
GROUPS = ("engine", "path", "predict", "linear", "qp")
QUICK_BUDGET = 55.0


def configure(parser: ArgumentParser) -> None:
    parser.add_argument("group", nargs="?", choices=GROUPS, help="which rows (all groups, one after another)")
    parser.add_argument("--quick", action="store_true", help="small problems, at most a minute in all")
    parser.add_argument("--budget", type=positive, metavar="SECONDS", help="leave out what does not fit")
    parser.add_argument("--repeat", type=count, default=3, metavar="N", help="the best of this many turns (3)")
    parser.add_argument("--only", default="", metavar="WORD", help="rows whose name has this in it")
    parser.add_argument("--write", action="store_true", help=f"put the results in {RESULTS}")
    parser.add_argument("--json", action="store_true", help="print one JSON array instead of the tables")


def positive(text: str) -> float:
    """A number above 0."""
    number = float(text)
    if not number > 0:
        raise ValueError
    return number


def count(text: str) -> int:
    """A whole number above 0."""
    return int(positive(text))


def run(arguments: Namespace, console: Console) -> int:
    from itertools import groupby
    from pathlib import Path

    from kdsl.bench.machine import describe_machine, touch_memory
    from kdsl.bench.peers import contenders
    from kdsl.bench.rows import rows_of
    from kdsl.bench.runner import run_rows
    from kdsl.bench.table import as_json, block, markdown, merged, section
    from kdsl.whole_file import write_whole

    groups = GROUPS if arguments.group is None else (arguments.group,)
    rows = tuple(row for group in groups for row in rows_of(group, arguments.quick) if arguments.only in row.title)
    results_file = Path(RESULTS)
    if not rows:
        raise UsageError("kdsl bench", f"no row has {arguments.only!r} in its name")
    if arguments.write and (arguments.quick or arguments.only):
        raise UsageError("kdsl bench", "--write takes whole groups at full size, without --quick and --only")
    if arguments.write and not results_file.parent.is_dir():
        raise FileNotFoundError(f"there is no folder {results_file.parent} here to put the results in")
    packages = dict.fromkeys([*(contender.package for contender in contenders()), "numpy", "scipy"])
    machine = describe_machine(tuple(packages))
    console.err("".join(f"{line}\n" for line in machine.lines))
    if not arguments.quick:
        touch_memory()
    budget = arguments.budget or (QUICK_BUDGET if arguments.quick else None)
    listings, missed = [], False
    for group, ran in groupby(run_rows(rows, arguments.repeat, budget), lambda result: result.row.group):
        results = []
        for result in ran:
            console.err("\n" + block(result, machine))
            missed = missed or result.own.outcome not in ("passed", "not run")
            results.append(result)
        if arguments.json:
            listings.append(as_json(group, results, machine))
        else:
            console.out(f"## {group}\n\n{markdown(results, machine)}\n")
        if arguments.write:
            existing = results_file.read_text(encoding="utf-8") if results_file.exists() else ""
            write_whole(str(results_file), merged(existing, group, section(group, results, machine)))
    if arguments.json:
        import json

        console.out_file(json.dumps(listings, indent=2, ensure_ascii=False, allow_nan=False) + "\n")
    return 3 if missed else 0
