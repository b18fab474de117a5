"""The compiled part of kdsl."""

def version() -> str:
    """The version of kdsl that this core was built for."""
