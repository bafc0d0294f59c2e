#!/usr/bin/env bash
# Builds the image that jobs run in and pushes it; needs docker, podman or buildah.
# usage: register-image.sh IMAGE TAG [BASE]
set -euo pipefail
[[ $# -ge 2 ]] || { echo "usage: register-image.sh IMAGE TAG [BASE]" >&2; exit 2; }

burnish image build "$1:$2" ${3:+--base "$3"}
burnish image push "$1:$2"
