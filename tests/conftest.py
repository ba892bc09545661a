"""Makes rows of claims available as test items."""

pytest_plugins = ("verification.pytest_plugin",)
