"""What must travel with a job: Burnish, the user's files, and the versions of what they need, as distributions."""

import io
import os
import re
import tarfile
import zipfile
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, distribution, distributions
from pathlib import Path

from burnish import __version__
from burnish.errors import LaunchError
from burnish.launch.left_behind import LeftBehind, TravelRules
from burnish.spec.component import Component
from burnish.storage.remote import EXTRAS as OF_ADDRESSES

LOCK = "requirements.lock"
_SOURCE = Path(__file__).parents[1]
_MOST_BYTES = 512 << 20
_RECORDS = (".tfrecord", ".tfrecords", ".tf_record")
_EXTRA = re.compile(r"(?: and|;) extra == ['\"]([\w-]+)['\"]")
_EPOCH = (2020, 1, 1, 0, 0, 0)
"""The time of every file in an archive: the same files make the same bytes."""


def burnish_wheel() -> tuple[str, bytes]:
    """Make the wheel of the Burnish that runs here, of the very files that run."""
    folder = f"burnish-{__version__}.dist-info"
    files = dict(_own_files())
    needed = "".join(f"{key}: {each}\n" for key in ("Provides-Extra", "Requires-Dist") for each in _described(key))
    files[f"{folder}/METADATA"] = (
        f"Metadata-Version: 2.1\nName: burnish\nVersion: {__version__}\nRequires-Python: >=3.11\n{needed}".encode()
    )
    files[f"{folder}/WHEEL"] = b"Wheel-Version: 1.0\nGenerator: burnish\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    files[f"{folder}/entry_points.txt"] = b"[console_scripts]\nburnish = burnish.__main__:main\n"
    record = "".join(f"{name},,\n" for name in (*files, f"{folder}/RECORD"))
    files[f"{folder}/RECORD"] = record.encode()
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(zipfile.ZipInfo(name, _EPOCH), content)
    return f"burnish-{__version__}-py3-none-any.whl", stream.getvalue()


def find_extras(*values: object) -> tuple[str, ...]:
    """Find the extras of Burnish that experiments and words of a command need.

    Components name their own; addresses and files of records are told by how they are written.
    """
    return tuple(sorted(set(_find_extras(values))))


def _find_extras(value: object) -> Iterator[str]:
    if isinstance(value, Component):
        yield from type(value).extras
        for name in type(value).model_fields:
            yield from _find_extras(getattr(value, name))
    elif isinstance(value, Mapping):
        for each in value.values():
            yield from _find_extras(each)
    elif isinstance(value, list | tuple):
        for each in value:
            yield from _find_extras(each)
    elif isinstance(value, str):
        scheme, mark, _ = value.partition("://")
        if mark and scheme in OF_ADDRESSES:
            yield OF_ADDRESSES[scheme]
        if value.endswith(_RECORDS):
            yield "tfrecord"


def source_distribution(requirements: Iterable[str], *, extras: Iterable[str] = ()) -> tuple[str, bytes]:
    """Make an sdist whose installation brings Burnish with extras, as Python package jobs take it, and requirements."""
    top = f"burnish-{__version__}"
    stream = io.BytesIO()
    needed = [*_requires(*extras), *requirements]
    setup = f"from setuptools import setup, find_packages\n\nsetup(name='burnish', version={__version__!r}, \
python_requires='>=3.11', packages=find_packages(), include_package_data=True, package_data={{'': ['*', '**/*']}}, \
install_requires={needed!r}, entry_points={{'console_scripts': ['burnish = burnish.__main__:main']}})\n"
    with tarfile.open(fileobj=stream, mode="w:gz", format=tarfile.PAX_FORMAT) as archive:
        _add(archive, f"{top}/setup.py", setup.encode())
        _add(archive, f"{top}/PKG-INFO", f"Metadata-Version: 2.1\nName: burnish\nVersion: {__version__}\n".encode())
        for name, content in _own_files():
            _add(archive, f"{top}/{name}", content)
    return f"{top}.tar.gz", stream.getvalue()


def is_project(name: str) -> bool:
    """Tell a Python project of the user's, which pip can install, from a file or folder that is copied."""
    return any(Path(name, each).is_file() for each in ("pyproject.toml", "setup.py"))


def project_distribution(name: str) -> tuple[str, bytes]:
    """Pack a project of the user's as it lies there; pip builds it where it is installed, with what it requires."""
    files, root, stream = expand([name]).files.values(), Path(name).resolve(), io.BytesIO()
    top = "-".join(root.relative_to(Path.cwd().resolve()).parts) or root.name
    with tarfile.open(fileobj=stream, mode="w:gz", format=tarfile.PAX_FORMAT) as archive:
        for path in files:
            _add(archive, f"{top}/{path.relative_to(name).as_posix()}", path.read_bytes())
    return f"{top}.tar.gz", stream.getvalue()


def lock() -> str:
    """Write the exact version of everything that is installed here, Burnish itself excepted."""
    found = {_normalise(each.metadata["Name"]): each.version for each in distributions() if each.metadata["Name"]}
    return "".join(f"{name}=={version}\n" for name, version in sorted(found.items()) if name != "burnish")


def read_requirements(path: Path) -> list[str]:
    """Read a requirements file: one requirement a line; options of pip are refused, because a package has none."""
    try:
        lines = [line.partition("#")[0].strip() for line in path.read_text(encoding="utf-8").splitlines()]
    except (OSError, UnicodeDecodeError) as error:
        raise LaunchError(f"{path} could not be read: {error}") from error
    odd = [line for line in lines if line.startswith("-")]
    if odd:
        raise LaunchError(f"{path}: {', '.join(odd)} is an option of pip; a package can only name requirements")
    return [line for line in lines if line]


@dataclass(frozen=True)
class Travelling:
    """Files by the place that they have below this folder, there as here, and what of their folders stays."""

    files: Mapping[str, Path]
    left: tuple[LeftBehind, ...]

    @property
    def num_bytes(self) -> int:
        """How much is sent."""
        return sum(path.stat().st_size for path in self.files.values())


def expand(names: Iterable[str], *, inputs: Collection[str] = ()) -> Travelling:
    """List each file below files and folders; refuse all that has no place below this folder.

    Of a folder, secrets and runs stay here, and what ignore files name unless the folder is among `inputs`: data and
    models are often ignored. A file or a folder travels in any case if it is named itself.
    """
    here, problems, found, left = Path.cwd(), [], dict[str, Path](), dict[str, LeftBehind]()
    for name in names:
        if not Path(name).exists():
            problems.append(f"there is no {name}")
            continue
        rules = TravelRules(Path(name), has_ignore_files=name not in inputs)
        for each in _files(Path(name), top=here, rules=rules, left=left):
            real = _real(each)
            if real.is_relative_to(here):
                found[_place(each, real, top=here)] = each
            else:
                sentence = f"{each} is {real}, outside of {here}, and has no place on the job's machine"
                problems.append(f"{sentence}; copy it here")
    size = sum(each.stat().st_size for each in found.values())
    if size > _MOST_BYTES:
        problems.append(f"the files have {size >> 20:,} MB; put what is larger than {_MOST_BYTES >> 20} MB on a bucket")
    if problems:
        raise LaunchError("launch.files: " + "; ".join(problems))
    stays = [each for place, each in sorted(left.items()) if not any(_is_below(file, place) for file in found)]
    return Travelling(found, tuple(stays))


def _is_below(file: str, folder: str) -> bool:
    return file == folder or file.startswith(f"{folder}/")


def _place(path: Path, real: Path, *, top: Path) -> str:
    named = Path(os.path.abspath(path))  # a link keeps its name: what the job reads is named by it
    return (named if named.is_relative_to(top) else real).relative_to(top).as_posix()


def _own_files() -> Iterator[tuple[str, bytes]]:
    for each in sorted(_SOURCE.rglob("*")):
        if each.is_file() and "__pycache__" not in each.parts:
            yield f"burnish/{each.relative_to(_SOURCE).as_posix()}", each.read_bytes()


def _files(
    path: Path, *, top: Path, rules: TravelRules, left: dict[str, LeftBehind], above: tuple[Path, ...] = ()
) -> Iterator[Path]:
    """Give a file, or those below a folder, also behind links; what lies outside of `top` is given and not entered."""
    real = _real(path)
    if path.is_file() or not real.is_relative_to(top):
        yield path
    elif path.is_dir() and real not in above:  # or a link to a folder that it lies in would have no end
        for each in sorted(path.iterdir()):
            why = rules.why_left(each)
            if why is None:
                yield from _files(each, top=top, rules=rules, left=left, above=(*above, real))
            else:
                place = _place(each, _real(each), top=top) if _real(each).is_relative_to(top) else str(each)
                left[place] = LeftBehind(place, why)


def _real(path: Path) -> Path:
    return Path(os.path.realpath(path))  # unlike `resolve`, it bears a link that leads to itself


def _requires(*extras: str) -> list[str]:
    """Give what Burnish requires, and what these of its extras bring, without their names."""
    found = [(each, _EXTRA.search(each)) for each in _described("Requires-Dist")]
    return [_EXTRA.sub("", each) for each, extra in found if extra is None or extra[1] in extras]


def _described(key: str) -> list[str]:
    try:
        return distribution("burnish").metadata.get_all(key) or []
    except PackageNotFoundError:
        return []


def _add(archive: tarfile.TarFile, name: str, content: bytes) -> None:
    entry = tarfile.TarInfo(name)
    entry.size = len(content)
    archive.addfile(entry, io.BytesIO(content))


def _normalise(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()
