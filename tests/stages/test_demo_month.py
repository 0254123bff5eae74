"""The simulated month that a page asks for: another process, its progress, its end."""

import asyncio
import os
import signal
import sys
from pathlib import Path

import pytest

from gnomon.daemon.demo_month import DemoMonth
from gnomon.domain.errors import GnomonError
from gnomon.domain.json_value import Fields
from gnomon.gateway.operation import Nothing
from gnomon.home import Home
from gnomon.lock import HomeLock

READY = '{"ready": true, "pid": %d, "login": "http://m/login?t=1", "login_expires_at": "soon"}'
ANSWERS = '{"url": "http://m/login?t=2", "expires_at": "soon"}'


def program(text: str) -> tuple[str, ...]:
    """A verb that runs these lines; its arguments are a demo's."""
    return (sys.executable, "-S", "-c", f"import sys, os\n{text}")


async def opened(month: DemoMonth) -> tuple[str, list[Fields]]:
    parts: list[Fields] = []
    link = await month.open(Nothing(), parts.append)
    return link.url, parts


async def test_each_day_is_told_and_then_the_way_in(tmp_path: Path) -> None:
    lives = program(
        f"assert sys.argv[1:4] == ['demo', '--home', {str(tmp_path / 'home')!r}], sys.argv\n"
        "for day in (1, 2): print(f'Day {day} of 2', file=sys.stderr)\n"
        f"print({READY % 0!r})"
    )
    url, parts = await opened(DemoMonth(Home(tmp_path / "home"), lives))
    assert url == "http://m/login?t=1"
    assert parts == [
        {"text": "Living day 1 of 2", "done": 1, "of": 2},
        {"text": "Living day 2 of 2", "done": 2, "of": 2},
    ]


async def test_a_month_that_runs_already_is_opened_again(tmp_path: Path) -> None:
    month = DemoMonth(Home(tmp_path / "home"), program(f"print({ANSWERS!r})"))
    assert await opened(month) == ("http://m/login?t=2", [])
    await month.close()


async def test_what_went_wrong_is_said_in_the_verbs_words(tmp_path: Path) -> None:
    fails = program("print('/x is not empty.', file=sys.stderr); sys.exit(2)")
    with pytest.raises(GnomonError, match="could not be shown: /x is not empty"):
        await opened(DemoMonth(Home(tmp_path / "home"), fails))
    with pytest.raises(GnomonError, match="it said nothing"):
        await opened(DemoMonth(Home(tmp_path / "home"), program("sys.exit(1)")))


async def test_whoever_calls_it_off_ends_the_process(tmp_path: Path) -> None:
    told = tmp_path / "pid"
    waits = program(
        f"open({str(told)!r}, 'w').write(str(os.getpid()))\n"
        "print('Day 1 of 9', file=sys.stderr, flush=True)\n"
        "import signal; signal.pause()"
    )
    begun = asyncio.Event()
    month = DemoMonth(Home(tmp_path / "home"), waits)
    asking = asyncio.create_task(month.open(Nothing(), lambda _: begun.set()))
    await begun.wait()
    asking.cancel()
    await asyncio.gather(asking, return_exceptions=True)
    with pytest.raises(ProcessLookupError):
        os.kill(int(told.read_text()), 0)


async def test_only_the_gateway_that_was_started_here_is_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = Home(tmp_path / "home")
    home.demo.root.mkdir()
    ended: list[tuple[int, int]] = []
    monkeypatch.setattr(os, "kill", lambda pid, sign: ended.append((pid, sign)))
    lock = HomeLock.acquire(home.demo.lock, pid=77, url="http://m")
    for pid, wanted in ((76, []), (77, [(77, signal.SIGTERM)])):
        month = DemoMonth(home, program(f"print({READY % pid!r})"))
        await opened(month)
        await month.close()
        assert ended == wanted
    lock.release()
