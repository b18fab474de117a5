"""The parser's tables, which are built from the grammar with the package, or the reason why they are not there."""

try:
    from kdsl.language import _tables as tables
except ImportError as error:
    raise ImportError(
        "this kdsl is the source folder, which lacks what is built: leave it, or run `pip install -e .` in it"
    ) from error

__all__ = ["tables"]
