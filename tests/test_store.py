"""The store deletes and overwrites what is its own, and nothing that a link leads to."""

from pathlib import Path

import pytest

from verification.store import WORK, open_store


@pytest.mark.parametrize("place", [WORK, f"{WORK}/old", f"{WORK}/lock"])
@pytest.mark.parametrize("resume", [False, True])
def test_links_are_refused_and_their_targets_left_alone(tmp_path: Path, place: str, resume: bool) -> None:
    precious = tmp_path / "precious"
    (precious / "folder").mkdir(parents=True)
    (precious / "folder/file").write_text("a year's work")
    link = tmp_path / "out" / place
    link.parent.mkdir(parents=True)
    link.symlink_to(precious / "folder/file" if place.endswith("lock") else precious)
    with pytest.raises(ValueError, match="is a symbolic link"), open_store(tmp_path / "out", "f", resume):
        pass
    assert (precious / "folder/file").read_text() == "a year's work"
    assert [path.name for path in precious.iterdir()] == ["folder"]
    link.unlink()
    with open_store(tmp_path / "out", "f", resume) as store:
        assert store.folder == tmp_path / "out" / WORK / "f"
