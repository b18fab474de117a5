"""What the commands load: cold start is kept by never importing what a verb does not need."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

HEAVY = ("numpy", "scipy", "cvxpy", "osqp", "qpsolvers", "typer", "rich", "lark", "dataclasses", "inspect", "sympy")


def loaded_by(program: str) -> set[str]:
    """The top-level modules that are loaded when the program ends."""
    code = f"import sys\n{program}\nprint('\\n' + ' '.join(sorted({{name.partition('.')[0] for name in sys.modules}})))"
    completed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert completed.returncode == 0, completed.stderr
    return set(completed.stdout.splitlines()[-1].split())


@pytest.mark.parametrize("verb", ["check", "fmt", "derive"])
def test_verbs_import_nothing_heavy(verb: str) -> None:
    loaded = loaded_by(f"from kdsl.cli.main import main; assert main([{verb!r}, 'svm_1norm']) == 0") - loaded_by("pass")
    assert "kdsl" in loaded
    assert not loaded & set(HEAVY)


def test_help_does_not_even_import_argparse() -> None:
    assert "argparse" not in loaded_by("from kdsl.cli.main import main; main(['--help'])") - loaded_by("pass")


def test_import_kdsl_loads_none_of_its_rooms() -> None:
    code = "import kdsl, sys; print(*sorted(name for name in sys.modules if name.startswith('kdsl.')))"
    completed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert completed.stdout == "\n"
    assert not loaded_by("import kdsl") & set(HEAVY)


def test_the_source_folder_says_what_it_lacks(root: Path, tmp_path: Path) -> None:
    """As after `pip install .` for whoever starts Python in the checkout, which stands before what is installed."""
    folder = tmp_path / "checkout"
    shutil.copytree(root / "kdsl", folder / "kdsl", ignore=shutil.ignore_patterns("*.so", "_tables.py", "__pycache__"))
    command = [sys.executable, "-S", "-c", "import kdsl; kdsl.parse_spec('model m')"]
    completed = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=60)
    assert completed.returncode == 1
    assert completed.stderr.splitlines()[-1].startswith("ImportError: this kdsl is the source folder")
