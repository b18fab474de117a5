"""Whatever parses is checked without a crash, without deep recursion and in reasonable time."""

from __future__ import annotations

import random
import re
import subprocess
import sys
import time
from pathlib import Path

from kdsl.language.checker import check_spec
from kdsl.language.diagnostics import KdslError
from kdsl.language.parser import parse_spec_text
from kdsl.language.report import render_text

ROOT = Path(__file__).parent.parent.parent
SECONDS = 20.0  # on a busy machine; what grows without end takes minutes
SPECS = sorted((ROOT / "specs").glob("*.kspec"))
PIECES = re.compile(r"\w+'*|[^\w\s]|\s+")


def mutants(text: str, rng: random.Random) -> str:
    pieces = PIECES.findall(text)
    for _ in range(rng.randint(1, 3)):
        at = rng.randrange(len(pieces))
        action = rng.randrange(4)
        if action == 0:
            del pieces[at]
        elif action == 1:
            pieces[at] = rng.choice(pieces)
        elif action == 2:
            pieces.insert(at, pieces[at])
        else:
            other = rng.randrange(len(pieces))
            pieces[at], pieces[other] = pieces[other], pieces[at]
    return "".join(pieces)


def test_mutants_give_diagnostics_or_a_model() -> None:
    rng = random.Random(20261118)
    parsed = 0
    for path in SPECS:
        text = path.read_text(encoding="utf-8")
        for _ in range(60):
            mutant = mutants(text, rng)
            try:
                spec = parse_spec_text(mutant)
            except KdslError:
                continue
            parsed += 1
            model, found = check_spec(spec, mutant, path.stem)
            assert (model is None) == any(diagnostic.severity == "error" for diagnostic in found)
            assert all(diagnostic.labels for diagnostic in found)
            render_text(found, mutant, path.name)
    assert parsed > 300


def test_deep_and_long_expressions() -> None:
    base = (ROOT / "specs" / "svm_1norm.kspec").read_text(encoding="utf-8")
    deep = base.replace("sum[i] xi[i]", "(" * 60 + "sum[i] xi[i]" + ")" * 60)
    long = base.replace("sum[i] xi[i]", "sum[i] xi[i]" + " + b" * 1500)
    for text in (deep, long):
        begin = time.perf_counter()
        assert check_spec(parse_spec_text(text), text, "m")[0] is not None
        assert time.perf_counter() - begin < SECONDS


def test_what_would_grow_without_end_is_refused_at_once() -> None:
    base = (ROOT / "specs" / "svm_1norm.kspec").read_text(encoding="utf-8")
    doubling = "\n".join(["let    a0 = C + 1", *(f"let    a{n} = a{n - 1} * a{n - 1}" for n in range(1, 200))])
    for text in (
        base.replace("subject to", doubling + "\nsubject to"),
        base.replace("C * sum", "(C + l + 1)^200 * sum"),
    ):
        begin = time.perf_counter()
        model, found = check_spec(parse_spec_text(text), text, "m")
        assert model is None
        assert {diagnostic.code for diagnostic in found} == {"K408"}
        assert time.perf_counter() - begin < SECONDS


def test_very_many_mistakes_on_one_long_line() -> None:
    base = (ROOT / "specs" / "svm_1norm.kspec").read_text(encoding="utf-8")
    text = base.replace("C * sum[i] xi[i]", " + ".join("q" * 60 + str(n) for n in range(1900)))
    text = text.replace("C : in (0, inf)", "C : in (0, inf) = 1, v : in (0, inf) = 1, ν : in (0, inf)")
    begin = time.perf_counter()
    model, found = check_spec(parse_spec_text(text), text, "m")
    shown = render_text(found, text, "m.kspec")
    assert time.perf_counter() - begin < SECONDS
    assert model is None
    assert len(found) == 100
    assert all(diagnostic.severity == "error" for diagnostic in found)
    assert "more findings are not reported" in found[-1].help
    assert max(len(line) for line in shown.splitlines()) < 300


def test_checking_imports_nothing_heavy() -> None:
    program = (
        "import sys; import kdsl.language.checker, kdsl.language.report; "
        "print([m for m in ('numpy', 'scipy', 'dataclasses', 'inspect', 'json', 'lark') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.strip() == "[]"
