"""[See a simulated month]: `gnomon demo`, started from the page, in a process of its own.

The month has its own home and its own gateway, as if the operator had typed the verb; this one
only passes on how far it is. What it started it also ends, together with itself.
"""

import asyncio
import contextlib
import json
import os
import re
import signal
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import Sequence

from gnomon.domain.errors import GnomonError
from gnomon.domain.views import MonthLink
from gnomon.gateway.operation import Nothing, Operation, Progress
from gnomon.home import Home
from gnomon.lock import holder

DAY_LINE = re.compile(rb"Day (\d{1,4}) of (\d{1,4})")
"""What the verb tells of its progress on its error stream, a line a day."""
PROGRAM = (
    sys.executable,
    "-P",
    "-c",
    "import sys; from gnomon.cli.main import main; sys.exit(main())",
)
NICE = 10
"""A month is up to two minutes of work that nobody else should feel."""
LAST_WORDS = 2_000


class DemoMonth:
    """One at a time: whoever asks meanwhile waits for the same month."""

    def __init__(self, home: Home, program: Sequence[str] = PROGRAM) -> None:
        self._home = home
        self._command = (*program, "demo", "--home", str(home.root), "--no-open", "--json")
        self._one = asyncio.Lock()
        self._started: int | None = None

    async def open(self, _: Nothing, progress: Progress) -> MonthLink:
        """Live the month where it was not lived before, and give a link to its dashboard.

        Raises GnomonError with the verb's own words.
        """
        async with self._one:
            process = await asyncio.create_subprocess_exec(
                *self._command, stdin=DEVNULL, stdout=PIPE, stderr=PIPE, start_new_session=True
            )
            with contextlib.suppress(OSError):
                os.setpriority(os.PRIO_PROCESS, process.pid, NICE)
            try:
                return await self._link(process, progress)
            finally:
                if process.returncode is None:
                    process.kill()
                    await process.wait()

    async def close(self) -> None:
        """End the month's gateway, if it was started here and still runs."""
        if self._started is not None and self._is_ours():
            os.kill(self._started, signal.SIGTERM)
        self._started = None

    def row(self) -> Operation:
        """The row of the table."""
        return Operation(
            "demo.open",
            "Show a simulated month",
            Nothing,
            MonthLink,
            self.open,
            outlives_pages=True,
        )

    async def _link(self, process: Process, progress: Progress) -> MonthLink:
        assert process.stdout is not None
        assert process.stderr is not None
        said, words = await asyncio.gather(process.stdout.read(), _told(process.stderr, progress))
        if await process.wait() != 0:
            raise GnomonError(
                f"The simulated month could not be shown: {words or 'it said nothing'}",
                next_step="`gnomon demo` in a terminal says more.",
            )
        facts = json.loads(said)
        if "ready" not in facts:  # it ran already, and this is a fresh link
            return MonthLink(
                url=facts["url"], expires_at=facts["expires_at"], ends_with_this=self._is_ours()
            )
        self._started = facts["pid"]
        return MonthLink(
            url=facts["login"], expires_at=facts["login_expires_at"], ends_with_this=True
        )

    def _is_ours(self) -> bool:
        held = holder(self._home.demo.lock)
        return self._started is not None and held is not None and held.pid == self._started


async def _told(stream: asyncio.StreamReader, progress: Progress) -> str:
    """Pass each day on; what else was said, shortened."""
    words = b""
    async for line in stream:
        day = DAY_LINE.search(line)
        if day is None:
            words = (words + line)[-LAST_WORDS:]
        else:
            done, of = int(day[1]), int(day[2])
            progress({"text": f"Living day {done} of {of}", "done": done, "of": of})
    return " ".join(words.decode("utf-8", "replace").split())
