"""A short form of the campaign in table_mutants.py."""

from __future__ import annotations

import random

from table_mutants import broken, damaged, failure, seeds

from kdsl.binding.reading import read_table


def test_damaged_tables_bind_or_are_refused(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    tried, found = broken(20, lambda tried: tried >= 600)
    assert tried == 600 and found == []


def test_the_undamaged_ones_are_read(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, content in seeds().items():
        (tmp_path / name).write_bytes(content)
        table = read_table(name)
        assert table.rows or table.arrays
        assert failure(name, random.Random(0)) == ""
        assert any(damaged(content, random.Random(seed)) != content for seed in range(3))
