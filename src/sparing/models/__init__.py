"""From cells to a model: pure functions, without asking, money or order of arrival."""
