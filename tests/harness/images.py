"""Images built and run for real on this machine: buildah, on a Debian that looks into the packages of this environment.

A base with torch would take gigabytes; here site-packages is mounted, and pip finds there all that it is asked for.
"""

import os
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
DEBIAN = Path(os.environ.get("BURNISH_DEBIAN", ROOT / ".venv-debian"))
"""A folder that debootstrap filled; `make cloud` makes it."""
BASE = "localhost/debian"
_PACKAGES = "/opt/packages"
_DIST = "usr/lib/python3/dist-packages"
# pip reads the value 0 of this one as "do not isolate".
_PIP = ("PIP_NO_INDEX=1", "PIP_FIND_LINKS=/opt/wheels", "PIP_NO_BUILD_ISOLATION=0", "PIP_DISABLE_PIP_VERSION_CHECK=1")


def explain_absence() -> str | None:
    """Say what a build needs and this machine has not; None if all is there."""
    python = f"python3.{sys.version_info.minor}"
    if os.geteuid() != 0:
        return "images are built as root"
    if shutil.which("buildah") is None or not (DEBIAN / _DIST).is_dir():
        return "make cloud installs buildah, and a Debian into .venv-debian"
    if not (DEBIAN / "usr" / "bin" / python).exists():
        return f"the packages of this environment are for {python}, and the base has another"
    return None


@dataclass(frozen=True)
class Images:
    """Images and containers in a store of their own."""

    folder: Path

    @property
    def tool(self) -> Path:
        """A folder with a `buildah` that uses this store, mounts the packages and needs no container engine."""
        return self.folder / "bin"

    def buildah(self, *words: str) -> str:
        """Run the tool; give what it prints."""
        done = subprocess.run([self.tool / "buildah", *words], capture_output=True, text=True)
        assert done.returncode == 0, f"buildah {' '.join(words)}\n{done.stdout}\n{done.stderr}"
        return done.stdout.strip()

    def command(self, image: str, words: Sequence[str], variables: Mapping[str, str]) -> list[str]:
        """Make a container of an image, and give the command that runs words in it, as its user and in its folder."""
        container = self.buildah("from", "--pull-never", image)
        told = [each for name, value in variables.items() for each in ("--env", f"{name}={value}")]
        return [str(self.tool / "buildah"), "run", *told, container, "--", *words]


@contextmanager
def images_in(folder: Path) -> Iterator[Images]:
    """Make a store with the base in it; in the end, it is emptied."""
    images = Images(folder)
    images.tool.mkdir(parents=True)
    mount = f"--volume {sysconfig.get_path('purelib')}:{_PACKAGES}:ro"
    script = images.tool / "buildah"
    script.write_text(
        f"#!/bin/sh\nexport BUILDAH_ISOLATION=chroot\nverb=$1\nshift\n"
        f'case $verb in build|run) set -- {mount} "$@" ;; esac\n'
        f'exec {shutil.which("buildah")} --root {folder}/store --runroot {folder}/run "$verb" "$@"\n'
    )
    script.chmod(0o755)
    try:
        container = images.buildah("from", "scratch")
        images.buildah("add", "--quiet", container, str(DEBIAN), "/")
        finder = folder / "packages.pth"
        finder.write_text(f"{_PACKAGES}\n")
        images.buildah("add", "--quiet", container, str(finder), f"/{_DIST}/")
        images.buildah("config", *(word for each in _PIP for word in ("--env", each)), container)
        images.buildah("commit", "--quiet", "--rm", container, BASE)
        yield images
    finally:
        images.buildah("rm", "--all")
        images.buildah("rmi", "--all", "--force")
