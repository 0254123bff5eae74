"""What the gateway's HTTP side is given. Importing this loads no web server."""

from collections.abc import Mapping
from dataclasses import dataclass

from gnomon.domain.ports import Clock
from gnomon.gateway.authority import Authority
from gnomon.gateway.operation import Operation
from gnomon.gateway.stream import Stream


@dataclass(frozen=True)
class Wiring:
    """`operations` by name: the one table. What is not in it has no route and no button.
    `simulated`: every page says that what it shows never happened. `dev_mode`: every page says
    that verdicts are made on too little to mean much. `home_option`: what a verb needs to mean this
    home, ` --home /there`; empty for the one that it means by itself.
    """

    operations: Mapping[str, Operation]
    authority: Authority
    stream: Stream
    clock: Clock
    simulated: bool = False
    dev_mode: bool = False
    home_option: str = ""
