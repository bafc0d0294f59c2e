"""Files at addresses, gs://, s3:// or any that fsspec knows: listed, fetched and put, every refusal in a sentence."""

import base64
import glob
import hashlib
import logging
import os
import re
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from typing import Any, TypeVar

from burnish.durable import replace_durably
from burnish.errors import MissingExtra, StorageError
from burnish.extras import silence_clients
from burnish.nearest import nearest
from burnish.storage.address import read_address

T = TypeVar("T")

EXTRAS = {"gs": "gcp", "gcs": "gcp", "s3": "s3", "s3a": "s3"}
_LOGINS = {
    "gs": "log in with `gcloud auth application-default login`, or let GOOGLE_APPLICATION_CREDENTIALS name a key file",
    "s3": "set AWS_PROFILE, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY",
}
_DENIED = re.compile(r"forbidden|denied|anonymous|unauthorized|does not have|credentials", re.IGNORECASE)
_EXISTS = re.compile(r"precondition|conditionnotmet", re.IGNORECASE)
_NAMES = re.compile(r"\S*[/%]\S*")
_LASTING = (NotADirectoryError, IsADirectoryError)
"""What a folder of this machine says that will not change by waiting."""
_TRIES, _FIRST_WAIT_SECONDS = 5, 1.0
_WEB = ("http://", "https://")
_TIMEOUT_SECONDS = 60.0
_FIRST_ANSWER_SECONDS = 8.0
"""How long a place has for its first answer. The clients would try for minutes."""
_NO_NETWORK = ("file", "local", "memory")
_answered: set[str] = set()
"""Places that have answered this process, like gs://bucket. From then on, a failure is worth new tries."""
_RETRIED = re.compile(r"(?:retrying after exception|Retryable error): (.+)", re.DOTALL)
"""What gcsfs and s3fs log of a request that they send again."""
_PROBE = ".burnish/probe"


class _Unreachable(StorageError):
    """A place that did not give its first answer, which new tries would only delay."""


@dataclass(frozen=True)
class RemoteFile:
    """What a store says of an object."""

    num_bytes: int
    version: str
    """Changes whenever the object does: its generation, ETag or time."""
    md5: str | None = None


@dataclass(frozen=True)
class Folder:
    """A folder at an address, and the objects below it by their relative names."""

    address: str

    @property
    def name(self) -> str:
        """The last part of its address."""
        return self.address.rpartition("/")[2]

    def listing(self) -> dict[str, RemoteFile]:
        """List every object below it; none where there is nothing. A name that leads elsewhere is refused."""
        with _told(self.address, "read"):
            system, root = _open(self.address)
            try:
                found = system.find(root, detail=True)
            except FileNotFoundError:
                return {}
        root = root.rstrip("/")
        named = {path.removeprefix(f"{root}/"): facts for path, facts in found.items() if path != root}
        return {
            check_name(name, self.address): _describe(facts)
            for name, facts in sorted(named.items())
            if not name.endswith("/")  # a console's mark for a folder
        }

    def file(self) -> RemoteFile | None:
        """Describe the object that the address itself names; None where there is none."""
        with _told(self.address, "read"):
            system, path = _open(self.address)
            try:
                facts = system.info(path)
            except FileNotFoundError:
                return None
        return None if facts.get("type") == "directory" else _describe(facts)

    def has(self, name: str) -> bool:
        """Tell whether an object is there."""
        return Folder(self._at(name)).file() is not None

    def read(self, name: str = "") -> bytes:
        """Read one small object, also over https."""
        with _told(self._at(name), "read"):
            if self.address.startswith(_WEB):
                from urllib.request import urlopen  # nobody whose files are local waits for it

                _reach(self.address)
                with urlopen(self._at(name), timeout=_TIMEOUT_SECONDS) as stream:  # noqa: S310  # http(s) alone
                    return bytes(stream.read())
            system, path = _open(self._at(name))
            content: bytes = system.cat_file(path)
        return content

    def write(self, name: str, content: bytes, *, is_new: bool = False) -> None:
        """Write one small object whole; with `is_new`, FileExistsError where one is there, if the store can tell."""
        with _told(self.address if name.startswith(".") else self._at(name), "written"):
            system, path = _open(self._at(name))
            try:
                if is_new:
                    system.pipe_file(path, content, mode="create")
                else:
                    system.pipe_file(path, content)
            except Exception as error:
                if is_new and (isinstance(error, FileExistsError) or _means(error, _EXISTS, 412)):
                    raise FileExistsError(self._at(name)) from error
                raise

    def put(self, name: str, path: Path) -> None:
        """Upload a file that does not change meanwhile, and look whether it came whole."""
        with _told(self._at(name), "written"):
            system, target = _open(self._at(name))
            system.put_file(str(path), target)
            found = _describe(system.info(target))
            if not is_same(path, found, is_told=False):
                raise ConnectionError(f"{found.num_bytes:,} of {path.stat().st_size:,} bytes came")

    def get(self, name: str, path: Path, *, expected: RemoteFile) -> None:
        """Fetch an object into a file, which has its old content or the new: that of now, if it changes meanwhile."""
        path.parent.mkdir(parents=True, exist_ok=True)

        def fetch(temporary: Path) -> None:
            with _told(self._at(name), "read"):
                system, source = _open(self._at(name))
                system.get_file(source, str(temporary))
                if is_same(temporary, expected, is_told=False):
                    return
                found = _describe(system.info(source))
                if not is_same(temporary, found, is_told=False):
                    raise ConnectionError(f"{temporary.stat().st_size:,} of {found.num_bytes:,} bytes came")

        replace_durably(path, lambda temporary: keep_trying(lambda: fetch(temporary)))

    def delete(self, names: Iterable[str]) -> None:
        """Delete objects, in order; one that is not there is deleted."""
        for name in names:
            with _told(self._at(name), "written"):
                system, path = _open(self._at(name))
                try:
                    system.rm_file(path)
                except FileNotFoundError:
                    continue

    def probe(self) -> None:
        """Refuse a place that cannot be written, before any work is done for it."""
        self.write(_PROBE, b"")
        self.delete([_PROBE])

    def _at(self, name: str) -> str:
        return f"{self.address}/{name}" if name else self.address


def match_files(address: str) -> list[str]:
    """Find the files that an address means, in order of name: itself, all of a folder, or those a pattern matches."""
    with _told(address, "read"):
        system, path = _open(address)
        if glob.has_magic(path):
            found = system.glob(path, detail=True)
            return [str(system.unstrip_protocol(name)) for name in sorted(found) if found[name]["type"] == "file"]
        if system.isfile(path):
            return [address]
    return [f"{address.rstrip('/')}/{name}" for name in Folder(address.rstrip("/")).listing()]


def check_name(name: str, address: str) -> str:
    """Give the name of an object back if it may be the name of a file below a folder; refuse what leads out of it."""
    parts = PurePosixPath(name).parts
    is_plain = name == "/".join(parts) and ".." not in parts and name.isprintable() and "\\" not in name
    if not is_plain or name.startswith("/"):
        raise StorageError(f"{address} holds an object named {name!r}, which is no name of a file; remove it there")
    return name


def is_same(path: Path, found: RemoteFile, *, is_told: bool = True) -> bool:
    """Compare a file with an object by size and MD5; where the store tells no MD5, the answer is `not is_told`."""
    if not path.is_file() or path.stat().st_size != found.num_bytes:
        return False
    if found.md5 is None:
        return not is_told
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, lambda: hashlib.md5(usedforsecurity=False)).hexdigest() == found.md5


def keep_trying(call: Callable[[], T], *, sleep: Callable[[float], None] = time.sleep) -> T:
    """Call until it succeeds, a few times and ever more slowly; what will not change is refused at once."""
    for turn in range(_TRIES - 1):
        try:
            return call()
        except _Unreachable:
            raise
        except StorageError as error:
            if error.is_final:
                raise
        sleep(_FIRST_WAIT_SECONDS * 2**turn)
    return call()


@contextmanager
def writing_at(place: Path) -> Iterator[Path]:
    """Let the caller write a file here that is then put at an address; a path on this machine is used as it is."""
    address = read_address(place)
    if address is None:
        yield place
        return
    parent, _, name = address.rpartition("/")
    Folder(parent).probe()
    with TemporaryDirectory(prefix="burnish-") as folder:
        yield Path(folder, name)
        for path in sorted(Path(folder).iterdir()):
            keep_trying(lambda path=path: Folder(parent).put(path.name, path))  # type: ignore[misc]  # bound at once


def _open(address: str) -> tuple[Any, str]:
    """Open the file system of an address, which must answer soon if this is the first time."""
    _reach(address)
    return _open_system(address)


def _open_system(address: str) -> tuple[Any, str]:
    """Open the file system of an address; the emulators' variables are honoured by the clients themselves."""
    import fsspec  # nobody whose files are local waits for it

    # Before its import: else it asks a server over gRPC for the kind of a bucket, and an emulator lets it wait.
    os.environ.setdefault("GCSFS_EXPERIMENTAL_ZB_HNS_SUPPORT", "false")
    scheme = address.partition("://")[0]
    options: dict[str, Any] = {"use_listings_cache": False}
    if scheme in ("gs", "gcs") and os.environ.get("STORAGE_EMULATOR_HOST"):
        options["token"] = "anon"  # noqa: S105  # no secret, but the word for none
    if scheme in ("file", "local") or "://" not in address:
        options["auto_mkdir"] = True
    system, path = fsspec.core.url_to_fs(address, **options)
    return system, path


def _reach(address: str) -> None:
    """Refuse a place that does not answer soon. Any answer will do, also that there is no such bucket."""
    scheme, _, rest = address.partition("://")
    place = f"{scheme}://{rest.partition('/')[0]}"
    if not rest or scheme in _NO_NETWORK or place in _answered:
        return
    silence_clients()
    errors: list[Exception] = []

    def ask() -> None:
        try:
            if address.startswith(_WEB):
                _ask_web(address)
            else:
                system, root = _open_system(place)
                system.info(root)
        except Exception as error:  # each client raises its own kinds
            errors.append(error)

    # In a thread, because clients look for credentials and try again for minutes, and no option of theirs ends that.
    thread = threading.Thread(target=ask, name="burnish-reach", daemon=True)
    with _listening() as heard:
        thread.start()
        thread.join(_FIRST_ANSWER_SECONDS)
    if thread.is_alive():
        reasons = list(dict.fromkeys([*heard[:1], *heard[-1:]]))  # such as no credentials, and then no server
        reason = f" ({'; '.join(reasons)})" if reasons else ""
        raise _Unreachable(f"{place} gave no answer within {_FIRST_ANSWER_SECONDS:.0f} s{reason}; {_advise(scheme)}")
    if errors and _is_no_answer(errors[0]):
        said = " ".join(str(errors[0]).split())[:300] or type(errors[0]).__name__
        raise _Unreachable(f"{place} could not be reached ({said}); {_advise(scheme)}") from errors[0]
    _answered.add(place)


def _ask_web(address: str) -> None:
    from urllib.request import Request, urlopen

    with urlopen(Request(address, method="HEAD"), timeout=_TIMEOUT_SECONDS):  # noqa: S310  # http(s) alone
        return


def _is_no_answer(error: Exception) -> bool:
    """Tell whether an error comes from the connection, and not from who answered."""
    if _find_status(error) is not None:
        return False
    names = {each.__name__ for each in type(error).__mro__}
    return not names.isdisjoint(
        {
            *("ConnectionError", "TimeoutError", "URLError", "gaierror"),
            *("ClientConnectionError", "ServerTimeoutError"),  # of aiohttp
            *("TransportError", "RequestException"),  # of google-auth and requests
            *("EndpointConnectionError", "HTTPClientError"),  # of botocore
        }
    )


def _advise(scheme: str) -> str:
    advice = "check the network and the address"
    if scheme in ("gs", "gcs") and os.environ.get("STORAGE_EMULATOR_HOST"):
        return f"{advice}, and STORAGE_EMULATOR_HOST, which is {os.environ['STORAGE_EMULATOR_HOST']}"
    if scheme in ("gs", "gcs"):
        how = "NO_GCE_CHECK=true keeps the client from asking a metadata server, which only machines of Google have"
        return f"{advice}, or {_LOGINS['gs']}; {how}"
    if scheme in ("s3", "s3a"):
        return f"{advice}, and AWS_ENDPOINT_URL if it is set, or {_LOGINS['s3']}"
    return advice


@contextmanager
def _listening() -> Iterator[list[str]]:
    """Collect why the clients try again: they say so in their logs alone."""
    heard: list[str] = []

    class Listener(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            found = _RETRIED.search(record.getMessage())
            if found:
                heard.append(" ".join(found[1].split())[:300])
            elif record.name.startswith("google.auth") and record.levelno >= logging.WARNING:
                heard.append(" ".join(record.getMessage().split())[:300])

    listener = Listener()
    loggers = [logging.getLogger(name) for name in ("gcsfs", "s3fs", "google.auth")]
    levels = [logger.level for logger in loggers]
    for logger in loggers[:2]:
        logger.setLevel(logging.DEBUG)
    for logger in loggers:
        logger.addHandler(listener)
    try:
        yield heard
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.removeHandler(listener)
            logger.setLevel(level)


@contextmanager
def _told(address: str, done: str) -> Iterator[None]:
    try:
        yield
    except (StorageError, FileExistsError):
        raise
    except ImportError as error:
        extra = EXTRAS.get(address.partition("://")[0])
        how = f"pip install 'burnish[{extra}]'" if extra else str(error)
        raise MissingExtra(f"{address} needs a package that is not installed; {how}") from error
    except Exception as error:  # each store raises its own kinds, and all of them mean the same to the user
        raise explain(address, error, done=done) from error


def explain(address: str, error: Exception, *, done: str = "read") -> StorageError:
    """Word a store's own error: what is wrong, and what to do."""
    scheme, _, rest = address.partition("://")
    said = " ".join((str(error) or type(error).__name__).split())[:300]
    if isinstance(error, ValueError) and "rotocol not known" in said:
        close = nearest(scheme, ["gs", "s3", "https", "file"])
        hint = f"did you mean {close}://{rest}?" if close else "use gs://, s3:// or https://"
        return StorageError(
            f"{address} begins with {scheme}://, which no installed package reads; {hint}", is_final=True
        )
    if isinstance(error, FileNotFoundError):
        bucket = rest.partition("/")[0]
        if done == "written":
            return StorageError(
                f"{address} could not be written: there is no bucket {bucket}; create it, or correct its name",
                is_final=True,
            )
        return StorageError(f"there is nothing at {address}", is_final=True)
    if isinstance(error, PermissionError) or _means(error, _DENIED, 401, 403):
        how = _LOGINS.get("gs" if scheme in ("gs", "gcs") else "s3" if scheme in ("s3", "s3a") else "", "")
        ask = f"ask for the right to do so, or {how}" if how else "ask for the right to do so"
        return StorageError(f"{address} may not be {done} with your credentials ({said}); {ask}", is_final=True)
    return StorageError(f"{address} could not be {done}: {said}", is_final=isinstance(error, _LASTING))


def _means(error: BaseException, words: re.Pattern[str], *statuses: int) -> bool:
    """Judge an error by the status of the answer; where none is known, by its words, and by no name among them."""
    status = _find_status(error)
    return status in statuses if status is not None else bool(words.search(_NAMES.sub("", str(error))))


def _find_status(error: BaseException | None) -> int | None:
    """Find the status of the answer that an error came from: each client keeps it in its own place."""
    while error is not None:
        response = getattr(error, "response", None)
        facts = response.get("ResponseMetadata", {}) if isinstance(response, Mapping) else {}
        told = [getattr(error, name, None) for name in ("code", "status")]
        found = [*told, facts.get("HTTPStatusCode"), getattr(response, "status_code", None)]
        if status := next((each for each in found if isinstance(each, int)), None):
            return status
        error = error.__cause__
    return None


def _describe(facts: Mapping[str, Any]) -> RemoteFile:
    told = [facts.get(name) for name in ("generation", "ETag", "etag", "md5Hash", "mtime", "created", "ino")]
    version = next((str(each) for each in told if each is not None), "")
    md5 = facts.get("md5Hash")
    return RemoteFile(int(facts["size"]), version, base64.b64decode(md5).hex() if md5 else None)
