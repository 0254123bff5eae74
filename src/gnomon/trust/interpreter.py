"""What a child needs of this machine to run Python and Gnomon, wherever they were installed:
a system Python, a virtual environment, pyenv, a tool's own folder.
"""

import os
import site
import sys
import sysconfig
from dataclasses import dataclass
from functools import cache
from pathlib import Path

SYSTEM_PREFIXES = ("/usr", "/usr/local", "/")
LIBRARIES = ("/lib", "/lib32", "/lib64", "/usr/lib", "/usr/lib32", "/usr/lib64", "/usr/local/lib")
ALWAYS = (
    *("/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d"),
    *("/etc/localtime", "/usr/share/zoneinfo"),
)
FOR_PROGRAMS = (
    *("/usr", "/bin", "/sbin", "/etc/alternatives"),
    *("/etc/ssl", "/etc/pki", "/etc/ca-certificates"),
)
"""Design page 1: /usr, /bin, /lib*; of /etc the loader and certificates. `alternatives` holds
only links into /usr, without which `awk` or `cc` do not run."""
FOR_NETWORK = (
    *("/etc/resolv.conf", "/etc/hosts", "/etc/nsswitch.conf", "/etc/gai.conf"),
    *("/etc/ssl", "/etc/pki", "/etc/ca-certificates"),
    *("/usr/share/ca-certificates", "/usr/local/share/ca-certificates"),
)


@dataclass(frozen=True)
class Interpreter:
    """`program` to start, what to put on `sys.path`, and which paths must be shown.

    `root` holds the package `gnomon`; only the package itself is shown, not its neighbours.
    """

    program: str
    root: str
    packages: tuple[str, ...]
    needs: tuple[str, ...]


@cache
def interpreter() -> Interpreter:
    """Of this process: its own Python and packages."""
    program = os.path.realpath(getattr(sys, "_base_executable", None) or sys.executable)
    package = Path(__file__).resolve().parent.parent
    sites = _site_folders()
    root = str(package.parent)
    library = [sysconfig.get_path(name) for name in ("stdlib", "platstdlib")]
    prefix = [] if sys.base_prefix in SYSTEM_PREFIXES else [sys.base_prefix, sys.base_exec_prefix]
    needs = [program, *library, *prefix, *LIBRARIES, *ALWAYS, *sites, str(package)]
    packages = [*(() if root in sites else (root,)), *sites]
    return Interpreter(
        program=program,
        root=root,
        packages=tuple(packages),
        needs=tuple(dict.fromkeys(path for path in needs if path)),
    )


def _site_folders() -> list[str]:
    """Folders that packages were installed into, of those that this process itself uses.

    Not `sys.path` as it is: it may hold the folder that somebody started us in.
    """
    known = [*site.getsitepackages(), site.getusersitepackages(), *_paths("purelib", "platlib")]
    used = {os.path.realpath(path) for path in sys.path if path}
    return [path for path in dict.fromkeys(map(os.path.realpath, known)) if path in used]


def _paths(*names: str) -> list[str]:
    return [path for name in names if (path := sysconfig.get_path(name))]
