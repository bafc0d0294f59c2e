"""Packs what must travel into a folder, and builds and pushes images of it with docker, podman or buildah."""

import shutil
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from burnish.durable import stage_folder
from burnish.errors import LaunchError
from burnish.launch.package import LOCK, burnish_wheel, lock
from burnish.launch.plan import FILES, PLAN, JobPlan
from burnish.spec.launcher import JobSpec

TOOLS = ("docker", "podman", "buildah")
_DOCKERFILE = Path(__file__).with_name("Dockerfile")
_ARGUMENT = "ARG EXTRAS="


def pack(
    job: JobSpec, files: Mapping[str, Path], folder: Path, *, max_restarts: int = 0, requirements: str = ""
) -> dict[str, int]:
    """Write the wheel of Burnish, the versions, the files, the plan and a Dockerfile into a new folder; give sizes."""
    if folder.exists():
        raise LaunchError(f"{folder} is there already; name a new folder with --out")
    name, wheel = burnish_wheel()
    copied = {each: path.read_bytes() for each, path in files.items()}
    texts = {each: text.encode() for each, text in job.texts.items()}
    contents = {
        name: wheel,
        LOCK: (requirements or lock()).encode(),
        _DOCKERFILE.name: write_dockerfile(job.extras).encode(),
    }
    contents |= {f"{FILES}/{each}": content for each, content in {**copied, **texts}.items()}
    contents |= {PLAN: JobPlan(job.words, max_restarts=max_restarts).write()} if job.words else {}
    with stage_folder(folder) as building:
        for each, content in contents.items():
            place = building / each
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(content)
    return {each: len(content) for each, content in sorted(contents.items())}


def write_dockerfile(extras: Iterable[str]) -> str:
    """Write the Dockerfile with the extras of every image, and further ones."""
    text = _DOCKERFILE.read_text(encoding="utf-8")
    return text.replace(f"{_ARGUMENT}{','.join(image_extras())}", f"{_ARGUMENT}{_join_extras(extras)}")


def _join_extras(extras: Iterable[str]) -> str:
    return ",".join(sorted({*image_extras(), *extras}))


def image_extras() -> list[str]:
    """Read which extras every image has."""
    lines = _DOCKERFILE.read_text(encoding="utf-8").splitlines()
    return next(line.removeprefix(_ARGUMENT).split(",") for line in lines if line.startswith(_ARGUMENT))


def build_command(
    tool: str,
    name: str,
    context: Path,
    *,
    base: str | None,
    torch_index: str | None = None,
    extras: Iterable[str] = (),
) -> list[str]:
    """Write the command that builds an image of a packed folder."""
    values = {"BASE": base, "TORCH_INDEX": torch_index, "EXTRAS": _join_extras(extras) if extras else None}
    arguments = [word for key, value in values.items() if value for word in ("--build-arg", f"{key}={value}")]
    return [tool, "build", "--tag", name, *arguments, str(context)]


def find_tool(asked: str | None = None) -> str:
    """Choose the tool that builds images: the one that is asked for, or the first that is there."""
    wanted = [asked] if asked else TOOLS
    if asked and asked not in TOOLS:
        raise LaunchError(f"--tool must be one of {', '.join(TOOLS)}, got {asked!r}")
    found = next((tool for tool in wanted if shutil.which(tool)), None)
    if found is None:
        raise LaunchError(f"there is no {' or '.join(wanted)} here; install one to build and push images")
    return found


def run_tool(command: Sequence[str]) -> None:
    """Run a tool, whose words the user sees; refuse if it fails."""
    try:
        code = subprocess.run(command, check=False).returncode
    except OSError as error:
        raise LaunchError(f"{command[0]} could not be started: {error.strerror}") from error
    if code:
        raise LaunchError(f"`{' '.join(command)}` failed with exit code {code}; its words are above")
