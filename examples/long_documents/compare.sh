#!/usr/bin/env bash
# Trains one run for each policy on the same documents, and compares them in a table and a plot (policies.svg).
# What every `burnish train` may take may follow, such as `-c offline.yaml`.
set -euo pipefail
cd "$(dirname "$0")"

declare -A policies=(
  [head]="head"
  [tail]="tail"
  [head_tail]="{type: head_tail, head: 128, tail: 382}"
  [random_spans]="{type: random_spans, span: 16}"
  [random_spans_overlapping]="{type: random_spans_overlapping, span: 16}"
  [random_spans_deleting]="{type: random_spans_deleting, span: 16}"
  [windows]="{type: windows, stride: 16, pool: max}"
)
runs=()
for name in head tail head_tail random_spans random_spans_overlapping random_spans_deleting windows; do
  burnish train long.yaml "$@" task.truncation="${policies[$name]}" --dir "runs/$name" --quiet
  runs+=("runs/$name")
done
burnish runs compare "${runs[@]}"
burnish runs compare "${runs[@]}" --json > runs/policies.json
python plot.py runs/policies.json policies.svg
