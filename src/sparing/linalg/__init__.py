"""Matrices as the solvers see them: rows, Gram matrices, products, BLAS threads."""
