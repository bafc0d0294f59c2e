#!/usr/bin/env bash
# Trains on Vertex AI; whatever `burnish train` takes may follow, such as `--dry-run` or `-l route=package`.
set -euo pipefail
BUCKET_NAME="${BUCKET_NAME:-your-bucket-name}"  # the one line to edit

cd "$(dirname "$0")/.."
PROJECT="${GOOGLE_CLOUD_PROJECT:-your-project}"
IMAGE="${IMAGE:-us-central1-docker.pkg.dev/$PROJECT/burnish/burnish:1}"
MACHINE="${MACHINE:-gpu}"  # or cpu: a file in the folder launch

burnish train imdb.yaml --on vertex -l "launch/$MACHINE.yaml" \
  -l "project=$PROJECT" -l "bucket=$BUCKET_NAME" -l "image=$IMAGE" "$@"
