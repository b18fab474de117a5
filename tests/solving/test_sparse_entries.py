"""Sparse matrices from their entries: sorted, terms of one place added up, sums that cancel left out."""

from __future__ import annotations

import numpy as np
import pytest

from kdsl.solving.sparse_forms import Entries, stacked, summed


def entries(seed: int, count: int = 60, shape: tuple[int, int] = (7, 9)) -> tuple[Entries, np.ndarray]:
    random = np.random.default_rng(seed)
    rows, columns = random.integers(shape[0], size=count), random.integers(shape[1], size=count)
    data = random.normal(size=count)
    dense = np.zeros(shape)
    np.add.at(dense, (rows, columns), data)
    return Entries(rows, columns, data, shape), dense


@pytest.mark.parametrize("seed", range(5))
def test_both_orders_hold_the_same_matrix(seed: int) -> None:
    found, dense = entries(seed)
    for matrix in (found.by_row(), found.by_column()):
        np.testing.assert_allclose(matrix.toarray(), dense, atol=1e-15)
        assert matrix.has_canonical_format


def test_what_cancels_but_for_rounding_leaves_no_entry() -> None:
    weights = np.array([0.1, 0.2, -0.3, 5.0])
    found = Entries(np.zeros(4, np.int64), np.array([2, 2, 2, 0]), weights, (1, 3)).by_row()
    assert found.indices.tolist() == [0]
    assert found.data.tolist() == [5.0]


def test_rows_that_are_kept_and_pieces() -> None:
    found, dense = entries(3, shape=(6, 4))
    keep = np.array([True, False, True, True, False, True])
    np.testing.assert_allclose(found.only(keep).by_row().toarray(), dense[keep], atol=1e-15)
    for number, piece in enumerate(found.split(3)):
        np.testing.assert_allclose(piece.by_column().toarray(), dense[2 * number : 2 * number + 2], atol=1e-15)


def test_parts_below_one_another_and_sums() -> None:
    (first, dense), (second, other) = entries(0), entries(1)
    np.testing.assert_allclose(stacked([first, second], 9).by_row().toarray(), np.vstack([dense, other]), atol=1e-15)
    np.testing.assert_allclose(summed([first, second], (7, 9)).by_row().toarray(), dense + other, atol=1e-15)
    assert stacked([], 9).by_row().shape == (0, 9)
