#!/usr/bin/env bash
# Builds the image that jobs run in and pushes it; needs docker, podman or buildah.
# usage: build-image.sh [BASE], such as pytorch/pytorch:TAG for machines with GPUs
set -euo pipefail
PROJECT="${GOOGLE_CLOUD_PROJECT:?set it to the name of your project}"
IMAGE="${IMAGE:-us-central1-docker.pkg.dev/$PROJECT/burnish/burnish:1}"

burnish image build "$IMAGE" ${1:+--base "$1"}
burnish image push "$IMAGE"
