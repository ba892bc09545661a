"""Layered private linear regression: Algorithms 2-6, one file per subroutine, named as in the paper."""
