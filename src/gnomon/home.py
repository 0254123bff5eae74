"""The home: one record that knows every path. Nothing else joins path pieces."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import platformdirs

from gnomon.domain.errors import UsageError

HOME_FORMAT = 1
"""The version in `home.json`. A newer home is refused, an older one migrated."""
_AGENT = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")


def default_home(environ: Mapping[str, str]) -> Path:
    """`$GNOMON_HOME`, else the platform's data folder."""
    named = environ.get("GNOMON_HOME")
    return Path(named).expanduser() if named else Path(platformdirs.user_data_dir("gnomon"))


def home_option(home: Path, environ: Mapping[str, str]) -> str:
    """The option that verbs need to mean this home; empty where they mean it anyway. For a
    terminal whose variables are not known, `environ` is empty.
    """
    return carried(("--home", str(home)), environ)


def carried(arguments: Sequence[str], environ: Mapping[str, str]) -> str:
    """What a command needs to mean the same home and agent as one with these arguments:
    ` --home DIR --agent NAME`, as far as they were given as options and are not what is meant
    without them. What the environment says is there for the next command too.
    """
    import shlex  # not for a daemon that tells nobody

    said: list[str] = []
    home = _last(arguments, "--home")
    if home is not None:
        root = Path(home).expanduser().absolute()
        if root != default_home(environ).expanduser().absolute():
            said += ["--home", str(root)]
    agent = _last(arguments, "--agent")
    if agent is not None and agent != (environ.get("GNOMON_AGENT") or "main"):
        said += ["--agent", agent]
    return f" {shlex.join(said)}" if said else ""


def _last(arguments: Sequence[str], option: str) -> str | None:
    """The value of an option where it stands last: that is the one that holds."""
    found: str | None = None
    for at, word in enumerate(arguments):
        if word == option and at + 1 < len(arguments):
            found = arguments[at + 1]
        elif word.startswith(f"{option}="):
            found = word.removeprefix(f"{option}=")
    return found


@dataclass(frozen=True)
class AgentPaths:
    """The paths of one agent: `<home>/agents/<agent-id>/` (page 2)."""

    agent: str
    root: Path

    @property
    def manifest(self) -> Path:
        return self.root / "manifest.yaml"

    @property
    def workspace(self) -> Path:
        return self.root / "workspace"

    @property
    def sessions(self) -> Path:
        return self.root / "sessions"

    @property
    def runs(self) -> Path:
        return self.root / "runs"

    @property
    def memory(self) -> Path:
        return self.root / "memory"

    @property
    def observations(self) -> Path:
        return self.memory / "observations.jsonl"

    @property
    def observations_imported(self) -> Path:
        return self.memory / "observations-imported.jsonl"

    @property
    def recall_index(self) -> Path:
        return self.memory / "index.db"

    @property
    def skills(self) -> Path:
        return self.root / "skills"

    @property
    def journal(self) -> Path:
        return self.root / "journal.md"

    @property
    def state(self) -> Path:
        return self.root / "state"

    @property
    def kernel(self) -> Path:
        return self.root / "kernel"

    @property
    def self_state(self) -> Path:
        return self.kernel / "self-state.json"

    @property
    def decision_ledger(self) -> Path:
        return self.kernel / "decision-ledger.jsonl"

    @property
    def artifact_ledger(self) -> Path:
        return self.kernel / "artifact-ledger.jsonl"

    @property
    def engagement_ledger(self) -> Path:
        return self.kernel / "engagement-ledger.jsonl"

    @property
    def fitness_ledger(self) -> Path:
        return self.kernel / "fitness-ledger.jsonl"

    @property
    def refinement_ledger(self) -> Path:
        return self.kernel / "refinement-ledger.jsonl"

    @property
    def judgment_ledger(self) -> Path:
        return self.kernel / "judgment-ledger.jsonl"

    @property
    def approvals(self) -> Path:
        return self.root / "approvals.jsonl"

    @property
    def fitness_config(self) -> Path:
        """The operator's; no role can write it."""
        return self.kernel / "fitness-config.json"

    @property
    def artifacts(self) -> Path:
        return self.kernel / "artifacts"

    @property
    def surfaces(self) -> Path:
        """What each surface said, by its hash, and the operator's own wordings of it."""
        return self.state / "surfaces"

    @property
    def approvals_begun(self) -> Path:
        """A mark for each approved action that was begun, with what its target held before."""
        return self.state / "approvals"

    @property
    def scaffold(self) -> Path:
        return self.kernel / "scaffold"

    @property
    def scaffold_versions(self) -> Path:
        return self.scaffold / ".versions"

    def session(self, session_id: str) -> Path:
        return self.sessions / f"{session_id}.jsonl"

    def run(self, run_id: str) -> Path:
        return self.runs / f"{run_id}.jsonl"


@dataclass(frozen=True)
class Home:
    """`root` is the home's folder; it need not exist yet (`create` in `gnomon.daemon`)."""

    root: Path

    @property
    def format_file(self) -> Path:
        return self.root / "home.json"

    @property
    def config(self) -> Path:
        return self.root / "config.toml"

    @property
    def lock(self) -> Path:
        return self.root / "home.lock"

    @property
    def heartbeat(self) -> Path:
        return self.root / "heartbeat"

    @property
    def operator_token(self) -> Path:
        return self.root / "operator.token"

    @property
    def anchors(self) -> Path:
        return self.root / "anchors.jsonl"

    @property
    def spend_ledger(self) -> Path:
        return self.root / "spend-ledger.jsonl"

    @property
    def models(self) -> Path:
        return self.root / "models"

    @property
    def log(self) -> Path:
        return self.root / "gateway.log"

    @property
    def agents(self) -> Path:
        return self.root / "agents"

    @property
    def demo(self) -> "Home":
        """A simulated month's home, beside this one and apart from it."""
        return Home(self.root.with_name(f"{self.root.name}-demo"))

    def agent(self, agent: str) -> AgentPaths:
        return AgentPaths(agent, self.agents / agent)

    def agent_named(self, agent: str) -> AgentPaths:
        """By a name that a person gave. Raises UsageError for one that is none: it becomes a
        folder's.
        """
        if not _AGENT.fullmatch(agent):
            raise UsageError(
                f"{agent!r} is no name for an agent.",
                next_step="Use up to 64 letters, digits, - and _, the first a letter or digit.",
            )
        return self.agent(agent)
