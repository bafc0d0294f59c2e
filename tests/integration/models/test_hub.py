"""A name on the hub: fetched from a hub on loopback, only the files that are needed, then taken from the cache."""

import hashlib
import json
import socket
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import huggingface_hub
import pytest
import torch

from burnish.errors import ConfigError
from burnish.models.transformer import Transformer
from burnish.spec.values import HeadSpec

COMMIT = "0123456789abcdef0123456789abcdef01234567"


class Hub(ThreadingHTTPServer):
    """Serve one folder as the model `org/tiny`, and remember what was asked for."""

    def __init__(self, folder: Path) -> None:
        super().__init__(("127.0.0.1", 0), Answer)
        self.folder = folder
        self.fetched: list[str] = []


class Answer(BaseHTTPRequestHandler):
    server: Hub

    def do_GET(self) -> None:
        paths = sorted(self.server.folder.iterdir())
        if self.path.startswith("/api/models/org/tiny/tree/"):
            self._send(json.dumps([_tree_entry(path) for path in paths]).encode())
        elif self.path.startswith("/api/models/org/tiny"):
            files = [{"rfilename": path.name} for path in paths]
            self._send(json.dumps({"id": "org/tiny", "sha": COMMIT, "siblings": files}).encode())
        elif self.path.startswith(f"/org/tiny/resolve/{COMMIT}/"):
            name = self.path.rpartition("/")[2]
            if self.command == "GET":
                self.server.fetched.append(name)
            self._send((self.server.folder / name).read_bytes())
        else:
            self.send_response(404)
            self.send_header("X-Error-Code", "RepoNotFound")
            self.send_header("Content-Length", "0")
            self.end_headers()

    do_HEAD = do_GET

    def _send(self, content: bytes) -> None:
        self.send_response(200)
        self.send_header("Content-Length", str(len(content)))
        self.send_header("ETag", f'"{hashlib.sha256(content).hexdigest()}"')
        self.send_header("X-Repo-Commit", COMMIT)
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        """Keep the console clean."""


def _tree_entry(path: Path) -> dict[str, object]:
    content = path.read_bytes()
    return {"type": "file", "path": path.name, "size": len(content), "oid": hashlib.sha1(content).hexdigest()}


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


def test_a_name_that_the_hub_does_not_have_is_refused(hub: Hub, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"the hub has no model org/absent at revision main that you may read"):
        Transformer(name="org/absent", cache_dir=str(tmp_path)).assets()
    assert hub.fetched == []
