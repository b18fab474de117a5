"""The benchmark: problems that can be repeated, kdsl and its peers, one judge for all, and the table of ratios."""
