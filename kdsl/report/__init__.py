"""The HTML report of a problem with its data: one page that holds everything and asks for nothing."""
