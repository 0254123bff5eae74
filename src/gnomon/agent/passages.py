"""What a file holds once a passage of it was replaced. Pure: the tool host does it, and the
gateway says beforehand what would be done.
"""

from gnomon.agent.outcome import ToolFaultError


def passage_replaced(data: bytes, old: str, new: str, shown: str) -> tuple[bytes, int]:
    """The bytes with the one passage `old` replaced, and the line where it stood, from 1.

    A file with CRLF ends is met in its own manner. Raises ToolFaultError (`NOT_FOUND`,
    `NOT_UNIQUE`), naming the file as `shown`.
    """
    was, will_be = old.encode("utf-8", "replace"), new.encode("utf-8", "replace")
    if was not in data and b"\r\n" in data:
        was, will_be = _with_crlf(was), _with_crlf(will_be)
    count = data.count(was)
    if count == 0:
        raise ToolFaultError("NOT_FOUND", f"The passage does not stand in {shown}.")
    if count > 1:
        raise ToolFaultError(
            "NOT_UNIQUE", f"The passage stands {count} times in {shown}; give more of it."
        )
    line = data[: data.index(was)].count(b"\n") + 1
    return data.replace(was, will_be), line


def _with_crlf(part: bytes) -> bytes:
    return part.replace(b"\r\n", b"\n").replace(b"\n", b"\r\n")
