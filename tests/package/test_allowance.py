"""How many processors and how much memory a solve takes by default: what the process is allowed, not what there is."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import joblib
import numpy as np
import pytest

import kdsl
from kdsl import allowance

MANY = 2500  # points, of which a solve takes as many threads as it may


@pytest.fixture
def groups(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A file system of control groups of the test's own; `own` beside it says which of them the process is in."""
    monkeypatch.setattr(allowance, "CONTROL_GROUPS", tmp_path / "groups")
    monkeypatch.setattr(allowance, "OWN_GROUPS", tmp_path / "own")
    monkeypatch.delenv(allowance.SURROUNDINGS, raising=False)
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: set(range(16)), raising=False)
    forget()
    yield tmp_path
    forget()


def forget() -> None:
    allowance._processor_quota.cache_clear()
    allowance._memory_limit.cache_clear()


def write(root: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text + "\n", encoding="ascii")


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({"own": "0::/"}, 16),
        ({"own": "0::/", "groups/cpu.max": "max 100000"}, 16),
        ({"own": "0::/", "groups/cpu.max": "250000 100000"}, 3),
        ({"own": "0::/", "groups/cpu.max": "10000 100000"}, 1),
        ({"own": "0::/a/b", "groups/a/cpu.max": "400000 100000", "groups/a/b/cpu.max": "max 100000"}, 4),
        ({"own": "0::/not/there", "groups/cpu.max": "200000 100000"}, 2),
        (
            {
                "own": "4:memory:/\n3:cpu,cpuacct:/job",
                "groups/cpu/job/cpu.cfs_quota_us": "150000",
                "groups/cpu/job/cpu.cfs_period_us": "50000",
            },
            3,
        ),
        (
            {"own": "1:cpu:/", "groups/cpu/cpu.cfs_quota_us": "-1", "groups/cpu/cpu.cfs_period_us": "100000"},
            16,
        ),
        ({"own": "nonsense", "groups/cpu.max": "100000 100000"}, 1),
        ({}, 16),
    ],
)
def test_a_container_s_share_of_the_processors(files: dict[str, str], expected: int, groups: Path) -> None:
    write(groups, files)
    assert allowance.processors() == expected


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({"own": "0::/job", "groups/job/memory.max": "1000000"}, 1e6),
        ({"own": "0::/job", "groups/job/memory.max": "max", "groups/memory.max": "2000000"}, 2e6),
        ({"own": "2:memory:/", "groups/memory/memory.limit_in_bytes": "3000000"}, 3e6),
    ],
)
def test_a_container_s_share_of_the_memory(files: dict[str, str], expected: float, groups: Path) -> None:
    write(groups, files)
    assert allowance.memory() == expected


def test_memory_without_a_limit_is_the_machine_s(groups: Path) -> None:
    write(groups, {"own": "2:memory:/", "groups/memory/memory.limit_in_bytes": str(2**63 - 4096)})
    assert allowance.memory() == os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


@pytest.mark.parametrize(("value", "expected"), [("4", 4), ("4,2", 4), ("99", 16), ("0", 16), ("-1", 16), ("x", 16)])
@pytest.mark.usefixtures("groups")
def test_what_the_surroundings_ask_for(value: str, expected: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(allowance.SURROUNDINGS, value)
    assert allowance.processors() == expected


def threads_of_a_solve(n: int, threads: int | None = None) -> int:
    rng = np.random.default_rng(0)
    y = np.where(np.arange(n) % 2, 1.0, -1.0)
    data = {"x": rng.normal(size=(n, 5)) + 0.5 * y[:, None], "y": y}
    found = kdsl.solve("svm_1norm", data, {"C": 1.0}, {"k": "rbf(gamma = 0.2)"}, kkt_tol=1e-3, threads=threads)
    assert found.status == "optimal"
    return int(found.facts["threads"])


def test_workers_of_joblib_share_the_processors() -> None:
    """As many processes as processors have one thread each; who names a number of threads gets it."""
    workers = max(2, joblib.cpu_count())
    with joblib.Parallel(n_jobs=workers) as parallel:
        assert set(parallel(joblib.delayed(threads_of_a_solve)(MANY) for _ in range(workers))) == {1}
        assert set(parallel(joblib.delayed(threads_of_a_solve)(MANY, 2) for _ in range(workers))) == {2}
