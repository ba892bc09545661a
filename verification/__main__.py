"""``python -m verification`` is the lpcb command."""

from verification.cli import app

app(prog_name="lpcb")
