"""Reports from one data structure: JSON, Markdown, HTML, JUnit."""
