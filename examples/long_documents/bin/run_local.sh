#!/usr/bin/env bash
# Trains on this machine; whatever `burnish train` takes may follow.
# DATA is a folder or an address with train.tsv and dev.tsv, OUTPUT a folder or an address for the run.
set -euo pipefail
cd "$(dirname "$0")/.."

burnish train long.yaml data.dir="${DATA:-data}" --dir "${OUTPUT:-runs/long}" "$@"
