"""What a bucket costs a run: the same training into a folder and into gs:// on this machine, in turns.

`python -m bench.bucket --steps 30000 --turns 2` prints the seconds of each run and the ratio of their sums.
"""

import argparse
import tempfile
import time
from pathlib import Path

from tests.faults.test_bucket import CONFIG
from tests.harness.fake_gcs import fake_gcs
from tests.harness.machine import Machine
from tests.harness.server import write_rides


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=30_000)
    parser.add_argument("--turns", type=int, default=2)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, fake_gcs() as bucket:
        root = Path(folder)
        write_rides(root / "rides.csv", 400)
        (root / "rides.yaml").write_text(CONFIG.format(train="rides.csv", steps=asked.steps))
        machine = Machine(root, "here", {"STORAGE_EMULATOR_HOST": bucket.url})
        seconds: dict[str, list[float]] = {"local": [], "bucket": []}
        for turn in range(asked.turns):
            places = {"local": f"local-{turn}", "bucket": f"gs://tank/runs/{turn}"}
            for name in sorted(places, reverse=bool(turn % 2)):
                began = time.monotonic()
                machine.run("train", "rides.yaml", "--dir", places[name], "--quiet")
                seconds[name].append(time.monotonic() - began)
                print(f"{name}: {seconds[name][-1]:.1f} s", flush=True)
        print(f"bucket / local: {sum(seconds['bucket']) / sum(seconds['local']):.3f}")


if __name__ == "__main__":
    main()
