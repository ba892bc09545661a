"""Reports from one data structure: JSON, Markdown, HTML, JUnit."""

from verification.report.files import read, write

__all__ = ["read", "write"]
