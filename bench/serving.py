"""Compares `burnish serve` with other model servers: the highest rate of requests at a p99 of at most 250 ms.

One client in a process of its own asks all servers in turn, each with the same weights on the same cores. The others
are in an environment of their own: python -m venv PEERS, then there
pip install torch==2.13.0 litserve mosec bentoml transformers pyarrow pyyaml typer rich fsspec jinja2
and for Infinity in another one: pip install torch==2.13.0 'infinity-emb[server,torch]' 'transformers<5'

    python -m bench.serving --peers PEERS --model ARTIFACT --rows rows.csv --kind text --length 64

On a machine that others use, a p99 says more about them than about a server. `--closed 32` counts what 32 clients get
that each wait for their answer, and for each second of a core that the server's processes have used for it.
"""

import argparse
import csv
import json
import os
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path

PEERS = Path(__file__).with_name("peers")
OURS = ("burnish", "burnish-onnx")
LIMIT_SECONDS = 0.25
STEP = 1.2
Running = tuple["subprocess.Popen[bytes]", int, str, Path]
"""The process of a server, its port and path, and the file of bodies to send."""


def main() -> None:
    options = parse()
    scratch = Path(tempfile.mkdtemp())
    bodies = {name: scratch / name for name in ("v1", "bento", "infinity")}
    write_bodies(options, bodies)
    running: dict[str, Running] = {}
    try:
        for name in options.servers.split(","):
            running[name] = start(name, options, bodies, scratch)
        (measure_closed if options.closed else measure)(running, options)
    finally:
        for process, *_ in running.values():
            for number, _ in find_processes(process.pid):  # some leave their workers running when they are asked to end
                with suppress(ProcessLookupError):
                    os.kill(number, signal.SIGKILL)
            process.wait()


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--peers", type=Path, required=True)
    parser.add_argument("--infinity", type=Path, help="its own environment: it needs transformers below 5")
    parser.add_argument("--model", type=Path, required=True)
    parser.add_argument("--rows", type=Path, required=True)
    parser.add_argument("--kind", choices=["text", "rows"], required=True)
    parser.add_argument("--length", type=int, default=64)
    parser.add_argument("--drop", default="label")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=4.0)
    parser.add_argument("--first", type=float, default=50.0)
    parser.add_argument("--closed", type=int, default=0, metavar="CLIENTS")
    parser.add_argument("--dtype", default="fp32", help="of the others; bf16 is autocast")
    parser.add_argument("--servers", default="burnish,litserve,mosec,bentoml,infinity")
    return parser.parse_args()


def write_bodies(options: argparse.Namespace, bodies: dict[str, Path]) -> None:
    with options.rows.open(newline="") as stream:
        rows = list(csv.DictReader(stream))[:2000]
    dropped = options.drop.split(",")
    rows = [{name: value for name, value in row.items() if name not in dropped} for row in rows]
    given = [row["text"] if options.kind == "text" else row for row in rows]
    bodies["v1"].write_text("".join(json.dumps({"instances": [row]}) + "\n" for row in given))
    bodies["bento"].write_text("".join(json.dumps({"instances": [row]}) + "\n" for row in given))
    bodies["infinity"].write_text("".join(json.dumps({"model": "model", "input": [row]}) + "\n" for row in given))


def start(name: str, options: argparse.Namespace, bodies: dict[str, Path], scratch: Path) -> Running:
    port, python = free_port(), str(options.peers / "bin/python")
    folder = options.model / "model" if options.kind == "text" else options.model
    environment = {
        **os.environ,
        "BENCH_MODEL": str(folder),
        "BENCH_LENGTH": str(options.length),
        "BENCH_KIND": options.kind,
        "BENCH_DTYPE": options.dtype,
        "OMP_NUM_THREADS": "1",
        "TOKENIZERS_PARALLELISM": "false",
        "DO_NOT_TRACK": "1",
        "BENTOML_DO_NOT_TRACK": "True",
        "PYTHONPATH": f"{PEERS}:{Path(__file__).parents[1] / 'src'}",
    }
    tool = str(options.peers / "bin")
    serve = ["-m", "burnish", "serve", f"m={options.model}", "--port", str(port)]
    commands = {
        "burnish": [sys.executable, *serve],
        # The same weights in float32 as onnxruntime computes them, of an artifact that `burnish export` has been at.
        "burnish-onnx": [sys.executable, *serve, "--engine", "onnx"],
        "litserve": [python, str(PEERS / "with_litserve.py"), str(port)],
        "mosec": [
            python,
            str(PEERS / "with_mosec.py"),
            "--address",
            "127.0.0.1",
            "--port",
            str(port),
            "--timeout",
            "60000",
        ],
        "bentoml": [f"{tool}/bentoml", "serve", "with_bentoml:Predict", "--port", str(port), "--host", "127.0.0.1"],
        "infinity": [
            *(
                f"{options.infinity or options.peers}/bin/infinity_emb",
                "v2",
                "--model-id",
                str(folder),
                "--served-model-name",
                "model",
            ),
            *("--engine", "torch", "--device", "cpu", "--no-bettertransformer", "--port", str(port)),
            *("--host", "127.0.0.1", "--no-model-warmup", "--lengths-via-tokenize"),
        ],
    }
    path, body = {"litserve": ("/predict", "v1"), "mosec": ("/inference", "v1"), "bentoml": ("/predict", "bento")}.get(
        name, ("/classify", "infinity") if name == "infinity" else ("/v1/predict", "v1")
    )
    if name in OURS:
        environment.pop("OMP_NUM_THREADS")
        commands[name] += ["--deadline", "30"] if options.closed else []  # the others refuse nobody
    log = (scratch / f"{name}.log").open("w")
    process = subprocess.Popen(
        commands[name], cwd=PEERS, env=environment, stdout=log, stderr=log, start_new_session=True
    )
    wait_for(process, port, path, bodies[body], log=scratch / f"{name}.log")
    return process, port, path, bodies[body]


def wait_for(process: subprocess.Popen[bytes], port: int, path: str, body: Path, *, log: Path) -> None:
    for _ in range(240):
        if process.poll() is not None:
            raise SystemExit(f"{process.args[0]} ended: {log.read_text()[-2000:]}")
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            if ask(port, path, body, rate=5, seconds=1)["ok"] > 0:
                return
        except OSError:
            time.sleep(1)
    raise SystemExit(f"no answer from {process.args}: {log.read_text()[-2000:]}")


def ask(port: int, path: str, body: Path, *, rate: float | str, seconds: float, seed: int = 0) -> dict[str, float]:
    client = Path(__file__).with_name("client.py")
    command = [sys.executable, str(client), str(port), path, str(body), str(rate), str(seconds), str(seed)]
    return json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def measure(running: dict[str, Running], options: argparse.Namespace) -> None:
    """Raise the rate for each server in turn until its p99 is too long; the last that was good counts."""
    first = dict.fromkeys(running, options.first)
    best: dict[str, list[float]] = {name: [] for name in running}
    for number in range(options.rounds):
        for name, (_, port, path, body) in running.items():
            rate, good, misses = first[name], 0.0, 0
            while misses < 2:  # others may use the machine: a rate is tried twice
                found = ask(port, path, body, rate=rate, seconds=options.seconds, seed=number)
                if found["ok"] == 1.0 and found["p99"] <= LIMIT_SECONDS:
                    good, rate, misses = found["rate"], rate * STEP, 0
                elif not good and rate > 2:
                    rate /= STEP**2
                else:
                    misses += 1
            best[name].append(good)
            first[name] = max(options.first / 4, good / STEP**2)
            print(number, name, round(good, 1), found, flush=True)
    compare(best, "requests/s")


def measure_closed(running: dict[str, Running], options: argparse.Namespace) -> None:
    """Ask each server in turn from as many clients, and count its requests by time and by what its processes used."""
    by_time: dict[str, list[float]] = {name: [] for name in running}
    by_core: dict[str, list[float]] = {name: [] for name in running}
    for number in range(options.rounds + 1):
        for name, (process, port, path, body) in running.items():
            used, began = core_seconds(process.pid), time.perf_counter()
            found = ask(port, path, body, rate=f"{options.closed}x", seconds=options.seconds, seed=number)
            took, used = time.perf_counter() - began, core_seconds(process.pid) - used
            print(number, name, found, f"{used / took:.2f} cores", flush=True)
            if number:  # the first round is a warm-up
                by_time[name].append(found["rate"] * found["ok"])
                by_core[name].append(found["rate"] * found["ok"] * options.seconds / max(used, 0.01))
    compare(by_time, "requests/s")
    compare(by_core, "requests a second of a core")


def core_seconds(root: int) -> float:
    """Sum what a process and those it began have used of the processor so far."""
    return sum(used for _, used in find_processes(root)) / os.sysconf("SC_CLK_TCK")


def find_processes(root: int) -> list[tuple[int, int]]:
    """List a process and those it began, wherever they went, with the ticks that each has used."""
    known: dict[int, list[tuple[int, int]]] = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):  # it has ended
            fields = path.read_text().rpartition(")")[2].split()
            known.setdefault(int(fields[1]), []).append((int(path.parent.name), int(fields[11]) + int(fields[12])))
    found = [(root, next((used for of in known.values() for number, used in of if number == root), 0))]
    for number, _ in found:  # it grows as it is walked
        found += known.get(number, [])
    return found


def compare(found: dict[str, list[float]], unit: str) -> None:
    for name, rates in found.items():
        said = [f"{own} is {times(found[own], rates)}" for own in OURS if own in found]
        print(f"{name:12} {statistics.median(rates):8.1f} {unit}   {', '.join(said)}", flush=True)


def times(ours: list[float], rates: list[float]) -> str:
    ratios = sorted(a / b for a, b in zip(ours, rates, strict=True) if b) or [0.0]
    return f"{statistics.median(ratios):.2f}x ({ratios[0]:.2f} to {ratios[-1]:.2f})"


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return listener.getsockname()[1]


if __name__ == "__main__":
    main()
