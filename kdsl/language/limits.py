"""How much of anything a specification may hold, so that every pass ends within seconds and no stack overflows."""

from __future__ import annotations

SOURCE_BYTES = 256 * 1024
NESTING = 200  # brackets, sums and signs inside one another
HEIGHT = 300  # nodes of the syntax tree above one another
TERMS = 2_000  # of a sum, a product or a list
STATEMENTS = 500  # lines, constraints and declared names of a file
EXPONENT = 1_000
DIGITS = 400  # of a literal, and the largest decimal exponent
ERRORS = 100  # reported for one file
