"""The package as a stranger gets it: sdist, wheel, and an empty environment outside the checkout."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

pytestmark = pytest.mark.xdist_group("package")  # one worker builds, once

Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="module")
def built(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the sdist, and the wheel that was built from the sdist and nothing else."""
    folder = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(folder), str(root)]
    completed = subprocess.run(command, capture_output=True, text=True, timeout=400)
    assert completed.returncode == 0, completed.stdout[-4000:] + completed.stderr[-4000:]
    return folder


@pytest.fixture(scope="module")
def wheel(built: Path) -> Path:
    return next(built.glob("kdsl-*.whl"))


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Runs programs of an empty environment in which only the wheel is installed."""
    folder = tmp_path_factory.mktemp("empty")
    subprocess.run([sys.executable, "-m", "venv", str(folder / "venv")], check=True, timeout=120)
    programs = folder / "venv" / "bin"
    pip = [str(programs / "python"), "-m", "pip", "install", "--no-deps", "--no-index", str(wheel)]
    subprocess.run(pip, check=True, capture_output=True, timeout=120)
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "VIRTUAL_ENV"))}

    def run(program: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        command = [str(programs / program), *arguments]
        return subprocess.run(command, capture_output=True, text=True, cwd=folder, env=clean, timeout=60)

    return run


def test_sdist_holds_what_the_build_and_the_tests_need(built: Path) -> None:
    with tarfile.open(next(built.glob("kdsl-*.tar.gz"))) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    needed = {"pyproject.toml", "CMakeLists.txt", "LICENSE", "README.md", "grammars/kspec.lark", "kdsl/core/module.cpp"}
    assert {"templates/classification.kspec", "examples/crescents.csv"} <= names
    assert needed | {"grammars/make_tables.py", "specs/svm_1norm.kspec", "tests/conftest.py"} <= names
    assert not [name for name in names if name.startswith(("build/", ".git/")) or name.endswith((".so", "/_tables.py"))]


def test_wheel_holds_the_package_its_data_and_no_sources_of_the_core(wheel: Path, root: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    assert {"kdsl/py.typed", "kdsl/language/_tables.py", "kdsl/grammars/kspec.lark"} <= names
    shipped = {f"kdsl/specs/{path.name}" for path in (root / "specs").glob("*.kspec")}
    pages = {f"kdsl/explanations/{path.name}" for path in (root / "docs" / "diagnostics").glob("K*.md")}
    assert shipped and shipped <= names
    templates = {f"kdsl/templates/{path.name}" for path in (root / "templates").glob("*.kspec")}
    assert templates and templates | {"kdsl/examples/crescents.csv"} <= names
    assert pages and pages <= names
    assert any(name.startswith("kdsl/_core.") and name.endswith(".so") for name in names)
    assert not [name for name in names if name.startswith("kdsl/core/") or name.endswith((".cpp", ".h", ".hpp"))]
    assert {name.partition("/")[0].partition("-")[0] for name in names} == {"kdsl"}


def test_installed_core_is_of_the_same_version(installed: Run) -> None:
    code = "import kdsl, kdsl._core as core; print(kdsl.__version__ == core.version(), kdsl.__file__)"
    completed = installed("python", "-c", code)
    assert completed.stdout.startswith("True "), completed.stderr
    assert "site-packages" in completed.stdout


def test_shipped_spec_derives_by_name(installed: Run) -> None:
    completed = installed("kdsl", "derive", "svm_1norm")
    assert completed.returncode == 0, completed.stderr
    assert completed.stdout.isascii() or "α" in completed.stdout


@pytest.mark.parametrize("verb", ["check", "fmt"])
def test_every_shipped_spec_passes(installed: Run, root: Path, verb: str) -> None:
    names = sorted(path.stem for path in (root / "specs").glob("*.kspec"))
    completed = installed("kdsl", verb, *names)
    assert completed.returncode == 0, completed.stdout + completed.stderr


def test_alone_it_names_data_that_are_there(installed: Run) -> None:
    completed = installed("kdsl")
    (line,) = [line for line in completed.stdout.splitlines() if line.startswith("  kdsl solve ")]
    assert Path(shlex.split(line)[shlex.split(line).index("--data") + 1]).is_file()


def test_templates_are_found(installed: Run) -> None:
    completed = installed("kdsl", "init", "mine", "--template", "ranking")
    assert completed.returncode == 0, completed.stderr
    assert installed("kdsl", "check", "mine.kspec").returncode == 0


def test_pages_are_found(installed: Run) -> None:
    completed = installed("kdsl", "explain", "K203")
    assert completed.returncode == 0, completed.stderr
    assert "K203" in completed.stdout
