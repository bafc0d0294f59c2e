#!/usr/bin/env bash
# Trains on Vertex AI; it asks before anything costs money.
# usage: submit-aiplatform.sh IMAGE TAG MACHINE DATA BUCKET [what `burnish train` may take ...]
# MACHINE is a file of the folder machines; DATA a folder here or an address with train.tsv and dev.tsv.
set -euo pipefail
[[ $# -ge 5 ]] || { sed -n '3,4s/^# //p' "$0" >&2; exit 2; }
image=$1:$2 machine=$3 data=$4 bucket=$5
cd "$(dirname "$0")/.."

burnish train long.yaml data.dir="$data" --on vertex -l "machines/$machine.yaml" \
  -l "project=${GOOGLE_CLOUD_PROJECT:-your-project}" -l "bucket=$bucket" -l "image=$image" "${@:6}"
