"""A connection to a home, or to a copy of it that is gone afterwards."""

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import replace

from gnomon.cli.connection import Connection
from gnomon.cli.options import Invocation


@contextmanager
def opened(asked: Invocation, *, copy: bool) -> Generator[Connection]:
    """The home, or a copy of it in this process, which no gateway has."""
    from gnomon.cli.home_copy import copied

    if not copy:
        connection = asked.open()
        try:
            yield connection
        finally:
            connection.close()
        return
    with copied(asked.home) as home:
        connection = replace(asked, home=home).open()
        try:
            yield connection
        finally:
            connection.close()
