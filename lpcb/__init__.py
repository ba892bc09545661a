"""Locally private linear contextual bandits by action elimination on layered private regression."""
