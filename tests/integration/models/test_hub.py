"""A name on the hub: fetched from a hub on loopback, only the files that are needed, then taken from the cache."""

import base64
import hashlib
import json
import shutil
import socket
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import huggingface_hub
import pytest
import torch

from burnish.commands.export import push
from burnish.errors import BurnishError, CheckpointError, ConfigError
from burnish.models.transformer import Transformer
from burnish.spec.values import HeadSpec

COMMIT = "0123456789abcdef0123456789abcdef01234567"


class Hub(ThreadingHTTPServer):
    """Serve one folder as the model `org/tiny`, and remember what was asked for."""

    def __init__(self, folder: Path) -> None:
        super().__init__(("127.0.0.1", 0), Answer)
        self.folder = folder
        self.fetched: list[str] = []
        self.tokens: set[str | None] = set()
        self.pushed: dict[str, bytes] = {}
        self.created: dict[str, object] = {}


class Answer(BaseHTTPRequestHandler):
    server: Hub

    def do_POST(self) -> None:
        given = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.tokens.add(self.headers["Authorization"])
        if self.headers["Authorization"] is None:
            return self._refuse(401)
        if self.path == "/api/repos/create":
            self.server.created = json.loads(given)
            return self._send(json.dumps({"url": f"{huggingface_hub.constants.ENDPOINT}/org/mine"}).encode())
        if "/preupload/" in self.path:
            names = [each["path"] for each in json.loads(given)["files"]]
            files = [{"path": name, "uploadMode": "regular", "shouldIgnore": False} for name in names]
            return self._send(json.dumps({"files": files}).encode())
        if "/commit/" in self.path:
            for line in map(json.loads, given.splitlines()):
                if line["key"] == "file":
                    self.server.pushed[line["value"]["path"]] = base64.b64decode(line["value"]["content"])
            return self._send(
                json.dumps(
                    {"commitUrl": f"{huggingface_hub.constants.ENDPOINT}/org/mine/commit/{COMMIT}", "commitOid": COMMIT}
                ).encode()
            )
        return self._send(b"{}")

    def do_GET(self) -> None:
        self.server.tokens.add(self.headers["Authorization"])
        root = self.server.folder
        names = sorted(path.relative_to(root).as_posix() for path in root.rglob("*") if path.is_file())
        if self.path.startswith("/api/models/org/tiny/tree/"):
            self._send(json.dumps([_tree_entry(root, name) for name in names]).encode())
        elif self.path.startswith("/api/models/org/tiny"):
            files = [{"rfilename": name} for name in names]
            self._send(json.dumps({"id": "org/tiny", "sha": COMMIT, "siblings": files}).encode())
        elif self.path.startswith(f"/org/tiny/resolve/{COMMIT}/"):
            name = unquote(self.path).partition(f"{COMMIT}/")[2]
            if self.command == "GET":
                self.server.fetched.append(name)
            self._send((root / name).read_bytes())
        else:
            self._refuse(404)

    do_HEAD = do_GET

    def _refuse(self, code: int) -> None:
        self.send_response(code)
        self.send_header("X-Error-Code", "RepoNotFound")
        self.send_header("Content-Length", "0")
        self.end_headers()

    def _send(self, content: bytes) -> None:
        self.send_response(200)
        self.send_header("Content-Length", str(len(content)))
        self.send_header("ETag", f'"{hashlib.sha256(content).hexdigest()}"')
        self.send_header("X-Repo-Commit", COMMIT)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        """Keep the console clean."""


def _tree_entry(root: Path, name: str) -> dict[str, object]:
    content = (root / name).read_bytes()
    return {"type": "file", "path": name, "size": len(content), "oid": hashlib.sha1(content).hexdigest()}


_LOOKUP = socket.getaddrinfo


def _loopback_names_only(host: object, *arguments: Any, **options: Any) -> Any:
    name = host.decode() if isinstance(host, bytes) else host
    assert name in ("127.0.0.1", "localhost"), f"the hub's client tried to find {name}"
    return _LOOKUP(host, *arguments, **options)


@pytest.fixture
def hub(tiny: Callable[[str], str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    folder = tmp_path / "served"
    folder.mkdir()
    for path in Path(tiny("bert")).iterdir():
        (folder / path.name).write_bytes(path.read_bytes())
    for extra in ("pytorch_model.bin", "flax_model.msgpack", "model.py"):
        (folder / extra).write_bytes(b"never to be fetched")
    server = Hub(folder)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    endpoint = f"http://127.0.0.1:{server.server_address[1]}"
    template = endpoint + "/{repo_id}/resolve/{revision}/{filename}"
    monkeypatch.setattr(socket, "getaddrinfo", _loopback_names_only)  # before the hub's client may go online
    monkeypatch.setattr(huggingface_hub.constants, "ENDPOINT", endpoint)
    monkeypatch.setattr(huggingface_hub.constants, "HUGGINGFACE_CO_URL_TEMPLATE", template)
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", False)
    huggingface_hub.close_session()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()
    huggingface_hub.close_session()


def test_a_hub_model_equals_its_folder_and_brings_only_what_is_needed(
    hub: Hub, head: HeadSpec, tiny: Callable[[str], str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = Transformer(name="org/tiny", cache_dir=str(tmp_path / "cache"))
    assets = model.assets()
    assert set(hub.fetched) == {"config.json", "tokenizer.json", "tokenizer_config.json"}  # no weights yet
    torch.manual_seed(0)
    fetched = model.network(head, assets).state_dict()
    assert set(hub.fetched) == {"config.json", "tokenizer.json", "tokenizer_config.json", "model.safetensors"}
    local = Transformer(name=tiny("bert"))
    assert local.assets().digest == assets.digest
    torch.manual_seed(0)
    expected = local.network(head, local.assets()).state_dict()
    assert all(torch.equal(fetched[name], expected[name]) for name in expected)
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)
    assert model.assets().digest == assets.digest  # from the cache


def test_an_adapter_on_the_hub_comes_with_the_weights_it_belongs_to(
    hub: Hub, head: HeadSpec, tiny: Callable[[str], str], tmp_path: Path
) -> None:
    pytest.importorskip("peft", reason="adapters need the extra `lora`")
    local = Transformer(name=tiny("bert"), lora={"rank": 2, "merge": False})
    network = local.network(head, local.assets())
    with torch.no_grad():
        for name, param in network.named_parameters():
            param.add_(0.1 * ("lora_" in name))
    local.save(network, hub.folder)
    fetched = Transformer(name="org/tiny", cache_dir=str(tmp_path / "cache")).network(head, local.assets()).state_dict()
    expected = local.load(hub.folder, head).state_dict()
    assert all(torch.equal(fetched[name], expected[name]) for name in expected)
    assert {name for name in hub.fetched if "adapter" in name} == {
        "adapter/adapter_config.json",
        "adapter/adapter_model.safetensors",
    }


def test_a_name_that_the_hub_does_not_have_is_refused(hub: Hub, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"the hub has no model org/absent at revision main that you may read"):
        Transformer(name="org/absent", cache_dir=str(tmp_path)).assets()
    assert hub.fetched == []


def test_a_token_of_the_environment_reaches_the_hub_of_a_private_model(
    hub: Hub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_TOKEN", "hf_secret")
    Transformer(name="org/tiny", cache_dir=str(tmp_path / "cache")).assets()
    assert hub.tokens == {"Bearer hf_secret"}


@pytest.fixture
def artifact(tiny: Callable[[str], str], tmp_path: Path) -> Path:
    folder = tmp_path / "run" / "artifact"
    shutil.copytree(tiny("bert"), folder / "model")
    for name in ("MANIFEST.json", "experiment.yaml", "README.md"):
        (folder / name).write_text("{}")
    return folder


def test_a_run_is_pushed_as_transformers_reads_it_with_its_card(
    hub: Hub, artifact: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_TOKEN", "hf_secret")
    assert COMMIT in push(str(artifact.parent), "org/mine")
    model = {path.name: path.read_bytes() for path in (artifact / "model").iterdir()}
    assert hub.pushed == {**model, "README.md": b"{}"}
    assert hub.created["visibility"] == "private"
    assert hub.tokens == {"Bearer hf_secret"}


@pytest.mark.parametrize("name", ["README.md", "model/vocab.txt"])
def test_a_link_to_a_file_elsewhere_is_not_pushed(
    hub: Hub, artifact: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setenv("HF_TOKEN", "hf_secret")
    (artifact / name).unlink(missing_ok=True)
    (artifact / name).symlink_to("/etc/hostname")
    with pytest.raises(CheckpointError, match="leads to /etc/hostname, which is not part of the artifact"):
        push(str(artifact.parent), "org/mine")
    assert hub.pushed == {}


def test_a_push_without_a_token_is_refused_and_says_where_one_is_taken_from(
    hub: Hub, artifact: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("HF_TOKEN", raising=False)
    monkeypatch.setattr(huggingface_hub.constants, "HF_TOKEN_PATH", str(tmp_path / "none"))
    with pytest.raises(BurnishError, match=r"org/mine could not be written: .*; a token .* is taken from HF_TOKEN"):
        push(str(artifact.parent), "org/mine")
    assert hub.pushed == {}
