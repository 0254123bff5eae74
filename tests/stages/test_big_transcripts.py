"""Size does not matter: memory is bounded, and a gigabyte takes less than a minute."""

import json
import resource
import subprocess
import sys
from pathlib import Path

import pytest

READ = """
import json, resource, sys, time
from pathlib import Path
from gnomon.observe.identity import Owners
from gnomon.observe.transcripts.reading import Reading
base = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
start = time.process_time()
reading = Reading(Path(sys.argv[1]), Owners())
turns = sum(type(found).__name__ == "FoundTurn" for found in reading.run())
row = reading.row(turns)
print(json.dumps({
    "turns": turns, "calls": sum(row.tool_calls.values()), "bad": len(row.bad_lines),
    "errors": row.tool_errors, "output": row.tokens.output,
    "grown_mib": (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - base) / 1024,
    "seconds": time.process_time() - start,
}))
"""
MIB = 1024 * 1024
GROWTH_MIB = 160
"""Memory that a reading may add at any size: windows, ids and one line."""


def turn(number: int, filler: str) -> str:
    """Four records: asked, called, answered by the tool, said."""
    at = f"00:{number // 60000 % 60:02}:{number // 1000 % 60:02}.{number % 1000:03}"
    common = {"sessionId": "big", "cwd": "/p", "timestamp": f"2026-01-01T{at}Z"}
    call = {"type": "tool_use", "id": f"call-{number}", "name": "Bash", "input": {"command": "ls"}}
    result = {
        "type": "tool_result",
        "tool_use_id": f"call-{number}",
        "content": filler,
        "is_error": number % 10 == 0,
    }
    usage = {"input_tokens": 1, "output_tokens": 1}
    records = (
        ("user", {"role": "user", "content": f"task number {number}"}),
        ("assistant", {"id": f"a{number}", "model": "m", "content": [call], "usage": usage}),
        ("user", {"role": "user", "content": [result]}),
        (
            "assistant",
            {
                "id": f"b{number}",
                "model": "m",
                "content": [{"type": "text", "text": filler[:2000]}],
                "usage": usage,
            },
        ),
    )
    return "".join(
        json.dumps({"type": kind, "uuid": f"{number}-{place}", "message": message, **common}) + "\n"
        for place, (kind, message) in enumerate(records)
    )


def write(path: Path, size: int) -> int:
    """A transcript of about that many bytes; gives its number of turns."""
    filler = "the lantern now holds some rows of the corner. " * 120
    number = 0
    with path.open("w", encoding="utf-8") as file:
        while file.tell() < size:
            file.write("".join(turn(number + each, filler) for each in range(200)))
            number += 200
    return number


def read(path: Path) -> dict:
    done = subprocess.run(
        [sys.executable, "-c", READ, str(path)], capture_output=True, text=True, timeout=300,
        check=True,
    )  # fmt: skip
    return json.loads(done.stdout)


def test_a_hundred_megabytes_are_read_in_bounded_memory(tmp_path: Path) -> None:
    path = tmp_path / "big.jsonl"
    turns = write(path, 100 * MIB)
    told = read(path)
    assert (told["turns"], told["calls"], told["errors"]) == (turns, turns, turns // 10)
    assert told["output"] == 2 * turns
    assert told["grown_mib"] < GROWTH_MIB


def test_a_line_of_a_hundred_megabytes_is_read_in_bounded_memory(tmp_path: Path) -> None:
    path = tmp_path / "long.jsonl"
    with path.open("w", encoding="utf-8") as file:
        file.write(turn(1, "x"))
        file.write('{"type":"user","uuid":"huge","sessionId":"big","timestamp":')
        file.write('"2026-01-02T00:00:00Z","message":{"role":"user","content":"pasted: ')
        for _ in range(100):
            file.write("y" * MIB)
        file.write('"}}\n')
        file.write(turn(2, "x"))
    told = read(path)
    assert (told["turns"], told["calls"], told["bad"]) == (3, 2, 0)
    assert told["grown_mib"] < GROWTH_MIB


@pytest.mark.parametrize("piece", ['{"a":1},', "\0", "nonsense "])
def test_a_long_line_of_another_kind_is_one_named_bad_line(tmp_path: Path, piece: str) -> None:
    path = tmp_path / "odd.jsonl"
    with path.open("w", encoding="utf-8") as file:
        file.write(turn(1, "x"))
        for _ in range(24):
            file.write(piece * (MIB // len(piece)))
        file.write("\n")
        file.write(turn(2, "x"))
    told = read(path)
    assert (told["turns"], told["calls"], told["bad"]) == (2, 2, 1)
    assert told["grown_mib"] < GROWTH_MIB


@pytest.mark.soak
@pytest.mark.timeout(600)
def test_a_gigabyte_is_read_within_a_minute(tmp_path: Path) -> None:
    path = tmp_path / "huge.jsonl"
    turns = write(path, 1024 * MIB)
    told = read(path)
    assert (told["turns"], told["calls"]) == (turns, turns)
    assert told["grown_mib"] < GROWTH_MIB
    assert told["seconds"] < 60


def test_the_measure_of_memory_is_that_of_this_system() -> None:
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss > 1024  # KiB, as the script reads it
