"""The home's lock: one holder, whoever tries."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from gnomon.domain.errors import HomeError, HomeLockedError
from gnomon.lock import Holder, HomeLock, holder

HOLD = """
import sys
from pathlib import Path
from gnomon.lock import HomeLock
lock = HomeLock.acquire(Path(sys.argv[1]), pid=4242, url="http://127.0.0.1:9/")
print("held", flush=True)
sys.stdin.read()
"""
RACE = """
import os, sys
from pathlib import Path
from gnomon.lock import HomeLock
from gnomon.domain.errors import HomeLockedError
lock, marks, tries = Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3])
won = 0
for _ in range(tries):
    try:
        held = HomeLock.acquire(lock, pid=os.getpid())
    except HomeLockedError:
        continue
    mark = os.open(marks, os.O_CREAT | os.O_EXCL)   # fails if anyone else is inside
    os.close(mark)
    os.sched_yield()
    os.unlink(marks)
    won += 1
    held.release()
print(won)
"""


def start(code: str, *arguments: object, **kwargs: object) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", code, *map(str, arguments)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        **kwargs,  # type: ignore[call-overload]
    )


def end(process: subprocess.Popen[str]) -> None:
    process.kill()
    process.communicate(timeout=10)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "home.lock"


def test_a_second_one_hears_who_holds_it_and_changes_nothing(path: Path) -> None:
    lock = HomeLock.acquire(path, pid=os.getpid(), url="http://127.0.0.1:1/")
    before = path.read_bytes()
    with pytest.raises(HomeLockedError) as refused:
        HomeLock.acquire(path, pid=1)
    assert refused.value.facts == {"pid": os.getpid(), "url": "http://127.0.0.1:1/"}
    assert str(os.getpid()) in str(refused.value)
    assert path.read_bytes() == before
    lock.release()
    HomeLock.acquire(path, pid=1).release()


def test_who_holds_it_can_be_asked_and_is_free_after(path: Path) -> None:
    assert holder(path) is None
    lock = HomeLock.acquire(path, pid=7)
    assert holder(path) == Holder(pid=7)
    lock.tell(pid=7, url="http://127.0.0.1:2/")
    assert holder(path) == Holder(pid=7, url="http://127.0.0.1:2/")
    lock.release()
    assert holder(path) is None


def test_a_home_that_is_a_file_is_told_to_whoever_asks_who_holds_it(path: Path) -> None:
    path.write_text("a file")
    with pytest.raises(HomeError, match=r"Not a directory\. Is .* a folder"):
        holder(path / "home.lock")


def test_a_killed_holder_is_taken_over_though_its_words_remain(path: Path) -> None:
    process = start(HOLD, path)
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    with pytest.raises(HomeLockedError):
        HomeLock.acquire(path, pid=1)
    end(process)
    assert b"4242" in path.read_bytes()
    lock = HomeLock.acquire(path, pid=2)
    assert holder(path) == Holder(pid=2)
    lock.release()


def test_a_stale_lock_that_names_a_living_process_is_taken_and_no_one_is_killed(
    path: Path,
) -> None:
    bystander = start("import sys; sys.stdin.read()")
    path.write_text(f'{{"pid":{bystander.pid},"url":null}}\n')
    HomeLock.acquire(path, pid=2).release()
    assert bystander.poll() is None
    end(bystander)


@pytest.mark.parametrize("text", ["", "junk", "{", '{"pid":"x"}', "\0" * 100])
def test_a_lock_file_with_any_text_can_be_taken(path: Path, text: str) -> None:
    path.write_text(text)
    HomeLock.acquire(path, pid=2).release()


def test_a_frozen_holder_fences_by_itself(path: Path) -> None:
    process = start(HOLD, path)
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    os.kill(process.pid, signal.SIGSTOP)
    for _ in range(3):
        with pytest.raises(HomeLockedError):
            HomeLock.acquire(path, pid=1)
    end(process)


def test_children_do_not_hold_the_lock(path: Path) -> None:
    lock = HomeLock.acquire(path, pid=1)
    child = start("import sys; sys.stdin.read()", close_fds=False)
    lock.release()
    HomeLock.acquire(path, pid=2).release()
    end(child)


def test_a_holder_notices_that_its_file_was_removed(path: Path) -> None:
    lock = HomeLock.acquire(path, pid=1)
    assert lock.is_held()
    path.unlink()
    assert not lock.is_held()
    other = HomeLock.acquire(path, pid=2)
    assert other.is_held()
    assert not lock.is_held()
    other.release()
    lock.release()


def test_a_link_is_not_followed(path: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").touch()
    path.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(HomeError):
        HomeLock.acquire(path, pid=1)


def test_two_processes_never_hold_it_at_once_in_a_thousand_tries(
    path: Path, tmp_path: Path
) -> None:
    racers = [start(RACE, path, tmp_path / "inside", 500) for _ in range(2)]
    won = []
    for racer in racers:
        out, _ = racer.communicate(timeout=100)
        assert racer.returncode == 0
        won.append(int(out))
    assert all(won)
