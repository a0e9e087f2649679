"""Nothing is destroyed by writing: devices, links, inputs, older results, runs that are killed."""

import errno
import os
import random
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path

import pandas as pd
import pytest

from loadstone.files import atomic, swap
from loadstone.files.atomic import refuse_existing, writing, writing_folder
from loadstone.files.errors import ExistingFileError, UnwritableFileError
from loadstone.files.spreadsheet import neutral, original, write_csv

KNOWN = ("a", "b", "c")


def contents(folder):
    return {path.name: path.read_text() for path in folder.iterdir()}


def put(folder, names, word, force=True):
    with writing_folder(folder, KNOWN, force=force) as workshop:
        for name in names:
            (workshop / name).write_text(word)


@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir], ids=["pipe", "folder"])
def test_what_is_no_regular_file_is_never_replaced(make, tmp_path):
    place = tmp_path / "place"
    make(place)
    before = place.stat().st_mode
    with pytest.raises(UnwritableFileError):
        refuse_existing([place], force=True)
    with pytest.raises(UnwritableFileError), writing(place):
        pytest.fail("nothing may be begun")
    with pytest.raises(UnwritableFileError), writing("/dev/null"):
        pytest.fail("nothing may be begun")
    assert place.stat().st_mode == before


def test_links_are_followed_and_permissions_kept(tmp_path):
    real, link = tmp_path / "real", tmp_path / "link"
    real.write_text("old")
    real.chmod(0o640)
    link.symlink_to(real)
    with writing(link) as temporary:
        temporary.write_text("new")
    assert link.is_symlink()
    assert real.read_text() == "new"
    assert stat.S_IMODE(real.stat().st_mode) == 0o640


def test_a_link_that_leads_nowhere_exists(tmp_path):
    link = tmp_path / "link"
    link.symlink_to(tmp_path / "nothing")
    with pytest.raises(ExistingFileError):
        refuse_existing([link], force=False)
    with writing(link) as temporary:
        temporary.write_text("new")
    assert link.is_symlink()
    assert (tmp_path / "nothing").read_text() == "new"


def test_an_input_is_never_overwritten(tmp_path):
    source, link = tmp_path / "data.csv", tmp_path / "other.csv"
    source.write_text("1")
    link.symlink_to(source)
    for output in (source, link):
        with pytest.raises(ExistingFileError, match="is read"):
            refuse_existing([output], force=True, inputs=[source])


def test_no_file_of_an_earlier_run_stays(tmp_path):
    folder = tmp_path / "out"
    put(folder, KNOWN, "old", force=False)
    with pytest.raises(ExistingFileError, match="--force"):
        put(folder, "a", "new", force=False)
    put(folder, "a", "new")
    assert contents(folder) == {"a": "new"}
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_files_of_others_are_never_swapped_away(tmp_path):
    folder = tmp_path / "out"
    folder.mkdir()
    (folder / "notes.txt").write_text("mine")
    with pytest.raises(ExistingFileError, match=r"notes\.txt"):
        put(folder, "a", "new")
    assert contents(folder) == {"notes.txt": "mine"}


@pytest.mark.parametrize("exchange", [True, False])
def test_an_error_leaves_the_old_results(exchange, tmp_path, monkeypatch):
    if not exchange:
        monkeypatch.setattr(swap, "_exchanged", lambda *_: False)
    folder = tmp_path / "out"
    put(folder, KNOWN, "old")

    def fail(*_):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(atomic, "_store_durably", fail)
        with pytest.raises(UnwritableFileError, match="No space left"):
            put(folder, "a", "new")
    assert contents(folder) == dict.fromkeys(KNOWN, "old")
    put(folder, "ab", "new")
    assert contents(folder) == dict.fromkeys("ab", "new")
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_what_a_killed_run_set_aside_comes_back(tmp_path):
    dead = subprocess.run([sys.executable, "-c", "import os; print(os.getpid())"],
                          capture_output=True, text=True, check=True).stdout.strip()  # fmt: skip
    for ending, word in (("", "half"), ("-old", "old")):
        folder = tmp_path / f".out.{dead}-x.loadstone{ending}"
        folder.mkdir()
        (folder / "a").write_text(word)
    mine = tmp_path / f".out.{os.getpid()}-x.loadstone"
    mine.mkdir()
    atomic.clean_dead(tmp_path / "out")
    atomic.clean_dead(tmp_path / "out")
    assert contents(tmp_path / "out") == {"a": "old"}
    assert sorted(path.name for path in tmp_path.iterdir()) == [mine.name, "out"]


def killed(folder, word, delay, how):
    """Start a run, and kill it some time after it began."""
    run = subprocess.Popen(
        [sys.executable, str(Path(__file__).with_name("kill_me.py")), str(folder), word],
        stdout=subprocess.PIPE,
    )
    run.stdout.readline()
    time.sleep(delay)
    run.send_signal(how)
    run.wait()
    run.stdout.close()


def test_a_kill_at_any_moment_leaves_no_mixture(tmp_path):
    chance = random.Random(0)
    folder = tmp_path / "out"
    n_kills = int(os.environ.get("LOADSTONE_KILLS", "8"))
    for number in range(n_kills):
        how = signal.SIGKILL if number % 2 else signal.SIGTERM
        killed(folder, str(number), chance.uniform(0, 0.06), how)
        if folder.exists():
            found = contents(folder)
            assert set(found) == set(KNOWN)
            assert len(set(found.values())) == 1
    put(folder, KNOWN, "last")
    assert contents(folder) == dict.fromkeys(KNOWN, "last")
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


@pytest.mark.parametrize(
    "text", ["=1+1", "+x", "-x", "@x", "\tx", "\rx", "'=x", "''-x", "plain", "'plain", "", "a=b"]
)
def test_formulas_are_neutralised_and_come_back(text, tmp_path):
    assert original(neutral(text)) == text
    assert neutral(text)[:1] not in tuple("=+-@\t\r")
    write_csv(pd.DataFrame({"name": [text, "x"], "-value": [-1.5, 2.0]}), tmp_path / "t.csv")
    again = pd.read_csv(tmp_path / "t.csv", keep_default_na=False)
    assert list(again.columns) == ["name", "'-value"]
    assert again.iloc[:, 1].tolist() == [-1.5, 2.0]
    assert original(again["name"][0]) == text


def test_a_full_disk_is_told_once_for_a_folder(tmp_path):
    def fill():
        folder = writing_folder(tmp_path / "out", KNOWN, force=False)
        with folder as workshop, writing(workshop / "a"):
            raise OSError(errno.ENOSPC, "No space left on device")

    with pytest.raises(UnwritableFileError) as told:
        fill()
    assert str(told.value).count("could not be written") == 1
    assert "No space left" in str(told.value)
