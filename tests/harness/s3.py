"""S3 on this machine: moto, in the environment that `make cloud` makes, because its clients need one of their own."""

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).parents[2]
PYTHON = Path(os.environ.get("BURNISH_S3_PYTHON", ROOT / ".venv-s3" / "bin" / "python"))
BUCKET = "tank"
_KEYS = {"AWS_ACCESS_KEY_ID": "x", "AWS_SECRET_ACCESS_KEY": "x", "AWS_DEFAULT_REGION": "us-east-1"}
_START = (
    "import boto3, time; from moto.server import ThreadedMotoServer as S; "
    "s = S('127.0.0.1', 0); s.start(); host, port = s.get_host_and_port(); url = f'http://{host}:{port}'; "
    f"boto3.client('s3', endpoint_url=url, region_name='us-east-1').create_bucket(Bucket='{BUCKET}'); "
    "print(url, flush=True); time.sleep(1800)"
)


@contextmanager
def moto() -> Iterator[dict[str, str]]:
    """Serve a bucket; give the variables that lead to it."""
    with subprocess.Popen(
        [PYTHON, "-c", _START],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env={**os.environ, **_KEYS},
    ) as server:
        assert server.stdout is not None
        try:
            url = next(line.strip() for line in server.stdout if line.startswith("http"))
            yield {**_KEYS, "AWS_ENDPOINT_URL": url}
        finally:
            server.kill()
