#!/usr/bin/env bash
# Trains on this machine; whatever `burnish train` takes may follow. METADATA names another metadata file.
set -euo pipefail
cd "$(dirname "$0")/.."
METADATA="${METADATA:-metadata/taxi_tips.yaml}"

burnish train wide_deep.yaml -c "$METADATA" --dir "runs/$(basename "$METADATA" .yaml)" \
  data.train="${GCS_TAXI_TRAIN_BIG:-${GCS_TAXI_TRAIN_SMALL:-data/taxi_trips_train.csv}}" \
  data.validation="${GCS_TAXI_EVAL_BIG:-${GCS_TAXI_EVAL_SMALL:-data/taxi_trips_eval.csv}}" "$@"
