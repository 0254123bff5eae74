"""A progress bar for long work: on a terminal, on the error stream, else nothing."""

from types import TracebackType
from typing import TYPE_CHECKING, Self

from gnomon.cli.output import Output
from gnomon.cli.terminal_text import one_line
from gnomon.domain.json_value import Fields

if TYPE_CHECKING:
    from rich.progress import Progress as Bar
    from rich.progress import TaskID


class Progress:
    """Takes the parts of an operation: `file` or `text` names what is at work, `read` of
    `total` how far it is (bytes, or files).
    """

    def __init__(self, output: Output, title: str) -> None:
        self._output = output
        self._title = title
        self._bar: Bar | None = None
        self._task: TaskID | None = None

    def __enter__(self) -> Self:
        if self._output.err.isatty():
            from rich.console import Console
            from rich.progress import BarColumn, TextColumn, TimeElapsedColumn
            from rich.progress import Progress as Bar

            console = Console(file=self._output.err, no_color=not self._output.colour)
            columns = (TextColumn("{task.description}", markup=False), BarColumn())
            self._bar = Bar(*columns, TimeElapsedColumn(), console=console, transient=True)
            self._bar.start()
            self._task = self._bar.add_task(self._title, total=None)
        return self

    def part(self, part: Fields) -> None:
        """Show one part."""
        if self._bar is None or self._task is None:
            return
        read, total = part.get("read"), part.get("total")
        named = part.get("file") or part.get("text") or ""
        self._bar.update(
            self._task,
            description=f"{self._title} {one_line(str(named), 60)}".rstrip(),
            completed=read if isinstance(read, int | float) else None,
            total=total if isinstance(total, int | float) else None,
        )

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._bar is not None:
            self._bar.stop()
