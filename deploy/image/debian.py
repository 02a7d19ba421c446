"""Debian's packages: installing some on this machine, unpacking a system of them into a directory.

Packages come from the mirror that this machine's apt uses where that has Debian, since it is the
one that can be reached, else from deb.debian.org; always with their signatures checked.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from deploy.image.logged import run_logged
from deploy.programs.errors import DeployError
from deploy.programs.reporting import Reporter

DEFAULT_MIRROR = "http://deb.debian.org/debian"
KEYRING = Path("/usr/share/keyrings/debian-archive-keyring.gpg")
OS_RELEASE = Path("/etc/os-release")
APT_TIMEOUT_SECONDS = 60.0
# root's PATH may lack where administrators' programs are (after `su`, or in a service).
EXTRA_DIRECTORIES = ("/usr/local/sbin", "/usr/sbin", "/sbin", "/usr/local/bin", "/usr/bin", "/bin")
_PROXY = re.compile(r'^Acquire::(https?)::Proxy "([^"]+)";$', re.MULTILINE)


def bootstrap(
    root: Path,
    suite: str,
    packages: Sequence[str],
    *,
    reporter: Reporter,
    log: Path,
) -> None:
    """Unpack a small Debian system with some packages into a directory.

    Takes about half a minute and 300 MB; needs root. debootstrap is installed if it is missing.
    When it fails or is interrupted, the directory is removed and nothing stays mounted in it.

    Parameters
    ----------
    root
        The directory, which is made and must not hold anything.
    suite
        The release, e.g. ``trixie``.
    packages
        What is wanted besides what is essential, with what that depends on.
    reporter, log
        Where progress is written, and what debootstrap says.

    Raises
    ------
    DeployError
        If this isn't root, debootstrap isn't there and can't be installed, or it fails.
    """
    if os.geteuid() != 0:
        raise DeployError(f"unpacking Debian's {suite} needs root, as it makes files of others")
    if root.exists() and any(root.iterdir()):
        raise DeployError(f"{root} is not empty")
    command = _find_debootstrap(reporter)
    mirror = find_mirror()
    reporter.step(f"unpacking Debian's {suite} from {mirror}, log {log}")
    try:
        options = root / "etc/dpkg/dpkg.cfg.d/berthmaster"
        options.parent.mkdir(parents=True)
        # A system that a crash leaves half unpacked is not kept: no waiting for the disk.
        options.write_text("force-unsafe-io\n")
        run_logged(
            [
                # What it mounts is gone with its last process, however that ends.
                *("unshare", "--mount", "--propagation", "private"),
                *(command, "--variant=minbase", f"--include={','.join(packages)}"),
                *("--force-check-gpg", f"--keyring={KEYRING}", suite, root, mirror),
            ],
            log=log,
            saying=f"unpacking Debian's {suite}",
            reporter=reporter,
            environment=_environment(),
        )
        options.unlink()
        _forget_downloads(root)
    except BaseException:
        shutil.rmtree(root, ignore_errors=True)
        raise


def install_packages(
    packages: Sequence[str], reporter: Reporter, *, recommended: bool = False
) -> None:
    """Install packages on this machine with apt; needs root on Debian or Ubuntu.

    Parameters
    ----------
    packages
        Their names.
    reporter
        Where progress is written.
    recommended
        Whether also what they recommend is installed.

    Raises
    ------
    DeployError
        If apt isn't there, this isn't root, or a package can't be had.
    """
    why_not = why_not_installable()
    if why_not is not None:
        raise DeployError(f"cannot install {', '.join(packages)}: {why_not}")
    reporter.step(f"installing {', '.join(packages)}")
    environment = {**_environment(), "DEBIAN_FRONTEND": "noninteractive", "NEEDRESTART_MODE": "l"}
    option = f"APT::Install-Recommends={'true' if recommended else 'false'}"
    with tempfile.TemporaryDirectory() as scratch:
        for saying, arguments in (
            ("reading the lists of packages", ["update", "--quiet"]),
            ("installing packages", ["install", "--quiet", "--yes", "-o", option, *packages]),
        ):
            run_logged(
                ["apt-get", *arguments],
                log=Path(scratch) / "apt.log",
                saying=saying,
                reporter=reporter,
                environment=environment,
            )


def why_not_installable() -> str | None:
    """Say why packages can't be installed on this machine by this user, or None if they can."""
    if find_program("apt-get") is None or not _families() & {"debian", "ubuntu"}:
        return "this machine is neither Debian nor Ubuntu"
    if os.geteuid() != 0:
        return "this user is not root"
    return None


def find_mirror() -> str:
    """Return the address of the Debian mirror that this machine's apt uses, else Debian's own."""
    if "debian" not in _os_release().get("ID", ""):
        return DEFAULT_MIRROR
    arguments = ["--format", "$(REPO_URI) $(CODENAME) $(COMPONENT)", "Created-By: Packages"]
    return choose_mirror(_ask("apt-get", "indextargets", *arguments)) or DEFAULT_MIRROR


def choose_mirror(targets: str) -> str | None:
    """Return the first address in lines ``URI CODENAME COMPONENT`` that has whole releases.

    Not those of updates, security updates or third parties, and only addresses that debootstrap
    understands.
    """
    for line in targets.splitlines():
        address, codename, component = line.split()
        is_release = component == "main" and "-" not in codename and "/debian" in address
        if is_release and address.startswith(("http://", "https://", "file:/")):
            return address.rstrip("/")
    return None


def find_program(name: str) -> Path | None:
    """Find a program on PATH or where administrators' programs usually are."""
    found = shutil.which(name, path=os.pathsep.join(program_directories()))
    return Path(found) if found else None


def program_directories() -> list[str]:
    """Return the directories of PATH, and those of administrators' programs that it lacks."""
    return list(dict.fromkeys([*os.get_exec_path(), *EXTRA_DIRECTORIES]))


def _find_debootstrap(reporter: Reporter) -> Path:
    if find_program("debootstrap") is None or not KEYRING.exists():
        install_packages(["debootstrap", "debian-archive-keyring"], reporter)
    found = find_program("debootstrap")
    if found is None:
        raise DeployError("debootstrap was installed, but is nowhere to be found")
    return found


def _forget_downloads(root: Path) -> None:
    """Remove the packages' files and lists, which the system in ``root`` doesn't need to run."""
    for archive in (root / "var/cache/apt/archives").glob("*.deb"):
        archive.unlink()
    for directory in ("var/lib/apt/lists", "var/log", "tmp"):
        for path in (root / directory).iterdir():
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
            else:
                path.unlink()
    # Only a cache of names; made anew when it is asked for.
    for cache in (root / "var/cache/apt").glob("*.bin"):
        cache.unlink()


def _environment() -> dict[str, str]:
    """Return this process's variables, with a PATH and the proxies that apt is told to use."""
    proxies = _proxies(_ask("apt-config", "dump"))
    path = os.pathsep.join(program_directories())
    # The system that is unpacked has no other language than C yet.
    return {**proxies, **os.environ, "PATH": path, "LC_ALL": "C"}


def _proxies(configuration: str) -> Mapping[str, str]:
    found = _PROXY.findall(configuration)
    return {f"{scheme}_proxy": url for scheme, url in found if url.startswith("http")}


def _families() -> set[str]:
    release = _os_release()
    return {release.get("ID", ""), *release.get("ID_LIKE", "").split()}


def _os_release() -> dict[str, str]:
    """Return os-release(5) as it is, without quotes."""
    with contextlib.suppress(OSError):
        pairs = (line.partition("=") for line in OS_RELEASE.read_text().splitlines())
        return {name: value.strip("\"'") for name, _, value in pairs if value}
    return {}


def _ask(*command: str) -> str:
    """Return what a command prints, or nothing if it isn't there or fails."""
    with contextlib.suppress(OSError, subprocess.SubprocessError):
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=APT_TIMEOUT_SECONDS,
            check=True,
        )
        return done.stdout
    return ""
