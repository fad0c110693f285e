"""Models of cells: pure functions that know nothing of asking, of money or of the order of arrival."""
