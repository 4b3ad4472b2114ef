"""A folder has one writer: of several who ask at once, each gets another one, or is told."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import pytest

from keyheat.runs.claims import Claim, Taken, claim, claim_numbered, hold, is_claimed

MANY = 8


def at_once(ask: Callable[[], Claim]) -> list[Claim | None]:
    """What many get who ask at the same moment; None: it was taken."""
    gate = Barrier(MANY)

    def one(_number: int) -> Claim | None:
        gate.wait()
        try:
            return ask()
        except Taken:
            return None

    with ThreadPoolExecutor(MANY) as pool:
        return list(pool.map(one, range(MANY)))


@pytest.mark.parametrize("there", [False, True], ids=["a new folder", "an empty folder"])
def test_one_of_many_gets_the_folder_that_all_want(tmp_path: Path, there: bool) -> None:
    folder = tmp_path / "run"
    if there:
        folder.mkdir()
    got = [one for one in at_once(lambda: claim(folder)) if one]
    assert [one.folder for one in got] == [folder]
    assert not list(folder.iterdir())


@pytest.mark.parametrize("new", [False, True])
@pytest.mark.parametrize("there", [False, True])
def test_each_of_many_gets_one_of_its_own(tmp_path: Path, new: bool, there: bool) -> None:
    if there:
        (tmp_path / "run").mkdir()
    got = [one for one in at_once(lambda: claim_numbered(tmp_path / "run", new=new)) if one]
    names = ["run", *(f"run-{number}" for number in range(2, MANY + 2))]
    assert sorted(one.folder.name for one in got) == (names[1:] if there and new else names[:-1])
    for one in got:
        one.release()
    if new:
        assert [each.name for each in tmp_path.iterdir()] == ["run"] * there, "who made it takes it away"


def test_a_folder_with_something_in_it_is_not_free_but_may_be_held(tmp_path: Path) -> None:
    (tmp_path / "note.txt").write_text("")
    with pytest.raises(Taken, match="not an empty folder"):
        claim(tmp_path)
    with hold(tmp_path):
        pass
    assert [one.name for one in tmp_path.iterdir()] == ["note.txt"]


def test_what_was_made_and_stayed_empty_goes_again(tmp_path: Path) -> None:
    with claim(tmp_path / "new"):
        pass
    assert not (tmp_path / "new").exists()
    (tmp_path / "mine").mkdir()
    with claim(tmp_path / "mine"):
        pass
    assert (tmp_path / "mine").exists()
    with claim(tmp_path / "used") as used:
        (used.folder / "run.json").touch()
    assert (tmp_path / "used").exists()


def test_who_is_let_in_claims_what_was_made_for_it(tmp_path: Path) -> None:
    new = claim_numbered(tmp_path / "run", new=True)
    with pytest.raises(Taken):
        claim(new.folder)
    new.unlock()
    with claim(new.folder) as again:
        assert claim_numbered(tmp_path / "run", new=True).folder.name == "run-2"
    assert again.folder.exists(), "whoever made it takes it away"
    new.release()
    assert not new.folder.exists()


def test_a_folder_is_claimed_as_long_as_somebody_holds_it(tmp_path: Path) -> None:
    with hold(tmp_path / "run") as held:
        assert is_claimed(held.folder)
        (held.folder / "run.json").touch()
    assert not is_claimed(tmp_path / "run")
    assert not is_claimed(tmp_path / "nowhere")
