"""Whatever is edited, by whom, with whatever crash: every content that was ever in force is on
the disk, exactly, and version names never repeat.
"""

import contextlib
import tempfile
from pathlib import Path

import msgspec
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from gnomon.disk import SYSTEM_DISK, Disk
from gnomon.domain.instants import Millis
from gnomon.scaffold.defaults import packaged_defaults
from gnomon.scaffold.versions import Scaffold, ScaffoldState
from gnomon.testing.crash import POINTS_WHEN, CrashDisk, Kill, Killed, When

NOW = Millis(1_780_000_000_000)
NAMES = ["inner-loop-prompt.md", "executive-prompt.md", "README.md", "antipattern-flags.json"]
contents = st.one_of(
    st.binary(max_size=12),
    st.text(min_size=1, max_size=12).map(str.encode),
    st.just(b'{"sharpened_next_step": "x"}'),
)


class ScaffoldHistory(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self._directory = tempfile.TemporaryDirectory()
        self.root = Path(self._directory.name)
        self.folder = self.root / "scaffold"
        self.ever: set[tuple[str, bytes]] = set()
        self.versions: dict[str, dict[str, str]] = {}
        self.kept_once: dict[str, bytes] = {}

    @initialize()
    def begin(self) -> None:
        self.restart()
        self.look()

    @rule()
    def restart(self) -> None:
        self.open(SYSTEM_DISK)

    def open(self, disk: Disk) -> None:
        self.scaffold = Scaffold(
            self.folder,
            self.folder / ".versions",
            self.root / "state" / "scaffold.json",
            packaged_defaults(),
            disk,
        )

    @rule()
    def look(self) -> None:
        self.note(self.scaffold.observe(NOW))

    @rule(at=st.integers(0, 40), when=st.sampled_from(POINTS_WHEN))
    def restart_look_and_be_killed(self, at: int, when: When) -> None:
        disk = CrashDisk(Kill(at, when))
        self.open(disk)
        with contextlib.suppress(Killed):
            self.note(self.scaffold.observe(NOW))
        disk.abandon()
        self.restart()

    @rule(name=st.sampled_from([*NAMES, "extra.md"]), content=contents)
    def edit_by_hand(self, name: str, content: bytes) -> None:
        (self.folder / name).write_bytes(content)

    @rule(name=st.sampled_from([*NAMES, "extra.md"]))
    def delete_by_hand(self, name: str) -> None:
        (self.folder / name).unlink(missing_ok=True)

    @rule(name=st.sampled_from(NAMES[:3]), text=st.text("ab c", min_size=1, max_size=6))
    def write_through_gnomon(self, name: str, text: str) -> None:
        standing = self.folder / name
        before = standing.read_bytes() if standing.exists() else None
        if not text.strip():
            return
        self.scaffold.write(name, text)
        assert standing.read_bytes() == text.encode()
        if before is not None:
            self.ever.add((name, before))

    def note(self, state: ScaffoldState) -> None:
        assert set(NAMES) <= set(state.files)
        known = self.versions.setdefault(state.version, state.files)
        assert known == state.files
        assert state.version == max(self.versions)
        self.ever |= {(name, text.encode()) for name, text in state.files.items()}

    @invariant()
    def every_content_that_ever_stood_is_on_the_disk(self) -> None:
        if not self.ever:
            return
        seen = self.scaffold_files()
        kept = {
            (p.name.split(".")[0], p.read_bytes())
            for p in (self.folder / ".versions").glob("[!.]*")
        }
        for name, content in self.ever:
            on_disk = (self.folder / name).exists() and (
                (self.folder / name).read_bytes() == content
            )
            assert on_disk or seen.get(name) == content or (name.split(".")[0], content) in kept, (
                name,
                content,
            )

    @invariant()
    def no_version_is_ever_changed_or_deleted(self) -> None:
        now = {p.name: p.read_bytes() for p in (self.folder / ".versions").glob("[!.]*")}
        assert self.kept_once.items() <= now.items()
        self.kept_once = now

    def scaffold_files(self) -> dict[str, bytes]:
        raw = msgspec.json.decode((self.root / "state" / "scaffold.json").read_bytes())
        return {name: text.encode() for name, text in raw["files"]}

    def teardown(self) -> None:
        self._directory.cleanup()


TestScaffoldHistory = ScaffoldHistory.TestCase
TestScaffoldHistory.settings = settings(max_examples=40, stateful_step_count=25, deadline=None)
