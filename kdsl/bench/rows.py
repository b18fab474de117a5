"""The rows of the benchmark: every problem of the table of targets, at its size and at one that takes moments."""

from __future__ import annotations

from typing import Literal, NamedTuple

from kdsl.bench.problems import LOSSES, Kind, Task, program_names

Against = Literal["scikit-learn", "best peer", "itself"]
Clock = Literal["wall", "processor"]
GROUPS = ("engine", "path", "predict", "linear", "qp")
Values = tuple[tuple[str, float], ...]


class Target(NamedTuple):
    """How many times as fast as a peer kdsl is to be; against "itself": its time over that of `Row.base`, at most."""

    against: Against
    ratio: float


class Row(NamedTuple):
    """A problem, the tolerance asked for, the targets, and `quick`, a small size for a quick look (0: none).

    `name` has a place for the size;
    `cost` is a guess at the seconds that the whole row takes on two processors: budgets are divided by it.
    """

    group: str
    name: str
    task: Task
    tol: float
    targets: tuple[Target, ...]
    quick: int
    cost: float
    clock: Clock = "wall"
    base: Task | None = None

    @property
    def title(self) -> str:
        return self.name.format(n=self.task.n)

    def quickly(self) -> Row:
        """The same at its small size, where no target is set."""
        base = None if self.base is None else self.base._replace(n=self.quick)
        return self._replace(task=self.task._replace(n=self.quick), base=base, targets=(), cost=1.0)


def over(sklearn: float | None, best: float | None) -> tuple[Target, ...]:
    """Targets against scikit-learn and against the fastest peer that meets the tolerance."""
    pairs: tuple[tuple[Against, float | None], ...] = (("scikit-learn", sklearn), ("best peer", best))
    return tuple(Target(against, ratio) for against, ratio in pairs if ratio is not None)


NAMES: dict[Kind, str] = {"c-svc": "C-SVC", "svr": "eps-SVR", "nu-svc": "nu-SVC", "one-class": "one-class"}


def _machine(
    kind: Kind,
    data: str,
    n: int,
    d: int,
    values: Values,
    targets: tuple[Target, ...],
    cost: float,
    quick: int = 0,
    tol: float = 1e-3,
) -> Row:
    told = " ".join(f"{name}={value:g}" for name, value in values)
    name = f"{NAMES[kind]} {told}, {data} d={d}, l={{n:,}}"
    return Row("engine", name, Task(kind, data, n, d, values), tol, targets, quick, cost)


def _svc(n: int, C: float, tol: float, sklearn: float, best: float, cost: float, quick: int = 0) -> Row:
    return _machine("c-svc", "two Gaussians", n, 10, (("C", C),), over(sklearn, best), cost, quick, tol)


C_1: Values = (("C", 1.0),)
C_100: Values = (("C", 100.0),)
SVR: Values = (("C", 10.0), ("eps", 0.5))
BASES: tuple[Row, ...] = (
    _svc(1_000, 1.0, 1e-3, 20, 10, 5, 400),
    _svc(5_000, 1.0, 1e-3, 50, 25, 8),
    _svc(20_000, 1.0, 1e-3, 80, 25, 50),
    _svc(50_000, 1.0, 1e-3, 120, 25, 200),
    _svc(1_000, 1.0, 1e-6, 12, 8, 6),
    _svc(5_000, 1.0, 1e-6, 30, 20, 15),
    _svc(20_000, 1.0, 1e-6, 60, 25, 120),
    _svc(50_000, 1.0, 1e-6, 80, 20, 300),
    _svc(20_000, 100.0, 1e-3, 30, 15, 200),
    _svc(20_000, 100.0, 1e-6, 40, 25, 400, 300),
    _machine("c-svc", "make_classification", 20_000, 50, C_1, over(30, 10), 60),
    _machine("c-svc", "make_classification", 5_000, 500, C_1, over(25, 4), 50),
    _machine("c-svc", "images", 10_000, 784, C_1, over(30, 4), 100),
    _machine("c-svc", "exclusive or", 20_000, 10, C_1, (), 45),
    _machine("c-svc", "checkerboard", 20_000, 2, C_100, (), 60),
    _machine("svr", "friedman1", 5_000, 10, SVR, over(40, 15), 8),
    _machine("svr", "friedman1", 20_000, 10, SVR, over(40, 12), 90, 400),
    _machine("nu-svc", "two Gaussians", 5_000, 10, (("nu", 0.3),), over(30, 20), 6),
    _machine("nu-svc", "two Gaussians", 20_000, 10, (("nu", 0.3),), over(80, 30), 60, 400),
    _machine("one-class", "two Gaussians", 20_000, 10, (("nu", 0.1),), over(100, 100), 15, 400),
    _machine("one-class", "two Gaussians", 20_000, 10, (("nu", 0.5),), over(100, 100), 50),
    Row(
        "engine",
        "kernel ridge lambda=1, friedman1 d=10, l={n:,} (processor time)",
        Task("ridge", "friedman1", 10_000, 10, (("lambda", 1.0),)),
        1e-10,
        over(2, 2),
        400,
        40,
        "processor",
    ),
)
GENERAL_NAMES: dict[Kind, str] = {
    "averages": "C-SVC, the averages of two groups within 0.1",
    "pairs": "C-SVC with 200 monotone pairs",
    "biases": "C-SVC with a bias for each of 8 groups",
}


def _general() -> tuple[Row, ...]:
    rows = []
    plain = Task("plain", "two Gaussians", 10_000, 10)
    for kind, name in GENERAL_NAMES.items():
        task = Task(kind, "two Gaussians", 10_000, 10)
        times = (Target("itself", 3.0),)
        rows.append(Row("engine", f"{name}, l={{n:,}} / without", task, 1e-6, times, 0, 5, base=plain))
        small = (Target("best peer", 100.0),)
        rows.append(Row("engine", f"{name}, l={{n:,}}", task._replace(n=2_000), 1e-6, small, 200, 30))
    return tuple(rows)


def _losses() -> tuple[Row, ...]:
    hinge = Task("c-svc", "two Gaussians", 10_000, 10)
    twice = (Target("itself", 2.0),)
    tasks = [Task(kind, "two Gaussians", 10_000, 10, ()) for kind in LOSSES]
    return tuple(
        Row("engine", f"{task.kind}, l={{n:,}} / hinge", task, 1e-3, twice, 300, 4, base=hinge) for task in tasks
    )


def _predictions() -> tuple[Row, ...]:
    sizes = (
        ("two Gaussians", 10_000, 10, 160, 8),
        ("make_classification", 10_000, 50, 130, 5),
        ("images", 5_000, 784, 70, 3),
    )
    return tuple(
        Row(
            "predict",
            f"decision values, {data} d={d}, {{n:,}} points",
            Task("predict", data, n, d),
            1e-3,
            over(sklearn, best),
            300 if d == 10 else 0,
            60,
        )
        for data, n, d, sklearn, best in sizes
    )


def rows_of(group: str, quick: bool) -> tuple[Row, ...]:
    """The rows of a group; with `quick` one small problem of each kind."""
    steps: Values = (("C", 1.0), ("steps", 5.0 if quick else 20.0))
    every: dict[str, tuple[Row, ...]] = {
        "engine": (*BASES, *_general(), *_losses()),
        "path": (
            Row(
                "path",
                f"{int(dict(steps)['steps'])} values of C, two Gaussians d=10, l={{n:,}}",
                Task("path", "two Gaussians", 5_000, 10, steps),
                1e-3,
                over(40, 30),
                300,
                100,
            ),
        ),
        "predict": _predictions(),
        "linear": (
            Row(
                "linear",
                "linear C=1, two Gaussians d=20, l={n:,}",
                Task("linear", "two Gaussians, raw", 1_000_000, 20),
                1e-6,
                over(100, 20),
                5_000,
                150,
            ),
        ),
        "qp": _programs(quick),
    }
    chosen = every[group]
    return tuple(row.quickly() for row in chosen if row.quick) if quick else chosen


def _programs(quick: bool) -> tuple[Row, ...]:
    names = program_names()
    sizes = {"random, dense": 300, "random, sparse": 2_000}
    return tuple(
        Row("qp", name, Task("qp", name, sizes.get(name, 0), 0, ()), 1e-6, (), 60, 5)
        for name in (names[:3] if quick else names)
    )
