#!/usr/bin/env bash
# Trains on this machine; whatever `burnish train` takes may follow, such as `-c offline.yaml` or `-c gpu.yaml`.
set -euo pipefail
cd "$(dirname "$0")/.."

burnish train imdb.yaml --dir runs/imdb_bert "$@"
