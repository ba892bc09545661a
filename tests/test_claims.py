"""Every row as a test item: the quick profile, unless --lpcb-profile says otherwise."""

from collections.abc import Callable


def test_row(lpcb_row: Callable[[], None]) -> None:
    lpcb_row()


def test_repair(lpcb_repair: Callable[[], None]) -> None:
    lpcb_repair()
