"""Derivations as text, LaTeX, HTML or JSON."""
