"""Estimators with scikit-learn's interface over any spec; needs the extra `kdsl[sklearn]`."""

from __future__ import annotations

try:
    import sklearn as _required  # noqa: F401
except ImportError as error:
    raise ImportError("kdsl.sklearn needs scikit-learn: pip install 'kdsl[sklearn]'") from error

from kdsl.sklearn.errors import FitError
from kdsl.sklearn.estimators import KernelClassifier, KernelRegressor, NoveltyDetector

__all__ = ["FitError", "KernelClassifier", "KernelRegressor", "NoveltyDetector"]
