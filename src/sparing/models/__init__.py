"""Models of cells: pure functions, which do not depend on how cells were asked for, paid for or ordered."""
