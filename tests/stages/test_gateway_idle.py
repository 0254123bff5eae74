"""What listening costs while nobody comes."""

import subprocess
import sys

PROGRAM = """
import asyncio, sys
from gnomon.testing.operations import PretendedHouse
from gnomon.gateway.listen import listen

def loaded():
    return sorted({"aiohttp", "jinja2"} & set(sys.modules))

def get(url, path):
    import urllib.request
    headers = {"Authorization": "Bearer operator-token-of-a-test"}
    return urllib.request.urlopen(urllib.request.Request(url + path, headers=headers)).status

async def main():
    listener = await listen(PretendedHouse().wiring(), 0)
    print(loaded(), listener.serving)
    print(await asyncio.to_thread(get, listener.url, "/api/status.show"), loaded())
    print(await asyncio.to_thread(get, listener.url, "/"), loaded())
    await listener.close()

asyncio.run(main())
"""


def test_the_web_server_and_the_pages_are_loaded_when_they_are_asked_for():
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=30, check=True
    )
    assert done.stdout.splitlines() == [
        "[] False",
        "200 ['aiohttp']",
        "200 ['aiohttp', 'jinja2']",
    ], done.stderr
