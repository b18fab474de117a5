"""The language of specs: syntax, names and domains, messages and the standard layout."""
