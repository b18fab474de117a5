"""LIBSVM's model files: read, evaluated with kdsl's kernels, and written from a solution."""

from __future__ import annotations

from kdsl.libsvm.model import LibsvmModel
from kdsl.libsvm.reading import parse_model, read_model

__all__ = ["LibsvmModel", "parse_model", "read_model"]
