"""Measurements of speed: one file each, with a ``main()`` that prints. Run ``python -m tests.benchmarks``."""
