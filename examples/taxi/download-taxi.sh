#!/usr/bin/env bash
# Fetches the public rides and tells the other scripts where they are.
# usage: source download-taxi.sh FOLDER [small|big]
# Sets GCS_TAXI_TRAIN_SMALL and GCS_TAXI_EVAL_SMALL (10,000 and 2,000 rides), or …_BIG (1,000,000 and 200,000).
[[ "${BASH_SOURCE[0]}" != "$0" ]] || set -euo pipefail  # a shell that sources it keeps its own settings

fetch_rides() {
  local folder="$1/$2" part
  local from="https://storage.googleapis.com/cloud-samples-data/ml-engine/chicago_taxi/training/$2"
  mkdir -p "$folder" || return
  for part in train eval; do
    [[ -s "$folder/taxi_trips_$part.csv" ]] ||
      curl -sSf --retry 3 "$from/taxi_trips_$part.csv" -o "$folder/taxi_trips_$part.csv" || return
    export "GCS_TAXI_${part^^}_${2^^}=$folder/taxi_trips_$part.csv"
  done
}

fetch_rides "${1:-data}" "${2:-small}"
