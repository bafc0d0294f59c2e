#!/usr/bin/env bash
# Lets Vertex AI search what hptuning_config.yaml says; whatever `burnish train` takes may follow, such as `--dry-run`.
set -euo pipefail
cd "$(dirname "$0")/.."

[[ -d tuning ]] || burnish import hptuning_config.yaml --out tuning
./scripts/train-cloud.sh -l study=tuning/space.yaml "$@"
