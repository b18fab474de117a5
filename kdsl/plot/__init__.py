"""Pictures of solved problems at the sizes of papers; matplotlib, the extra `plot`, is imported when one is drawn."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kdsl.plot.conjugates import loss as loss
    from kdsl.plot.convergence import Moment as Moment
    from kdsl.plot.convergence import Record as Record
    from kdsl.plot.convergence import gap as gap
    from kdsl.plot.fits import with_data as with_data
    from kdsl.plot.level_sets import novelty as novelty
    from kdsl.plot.multipliers import margins as margins
    from kdsl.plot.regression import tube as tube
    from kdsl.plot.sheets import save as save
    from kdsl.plot.surfaces import decision as decision

_HOME = {
    "Moment": "convergence",
    "Record": "convergence",
    "decision": "surfaces",
    "gap": "convergence",
    "loss": "conjugates",
    "margins": "multipliers",
    "novelty": "level_sets",
    "save": "sheets",
    "tube": "regression",
    "with_data": "fits",
}

__all__ = ["Moment", "Record", "decision", "gap", "loss", "margins", "novelty", "save", "tube", "with_data"]


def __getattr__(name: str) -> object:
    """Import the module of a picture when the picture is asked for."""
    if name not in _HOME:
        raise AttributeError(f"module 'kdsl.plot' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"kdsl.plot.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
