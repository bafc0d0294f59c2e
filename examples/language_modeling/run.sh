#!/usr/bin/env bash
# Pretrains a tiny BERT on WikiText-2, fine-tunes it on SST-2, and compares with the same model from random weights.
# usage: [SEEDS="0 1 2"] run.sh WIKITEXT2_FOLDER SST2_FOLDER [RUNS_FOLDER [what every `burnish train` may take ...]]
set -euo pipefail
wikitext=$1 sst2=$2 runs=${3:-runs/tiny}
more=("${@:4}")
here=$(cd "$(dirname "$0")" && pwd)
size="{hidden_size: 128, num_hidden_layers: 2, num_attention_heads: 4, intermediate_size: 512, max_position_embeddings: 128}"

mkdir -p "$runs"
[ -d "$runs/tokenizer" ] || burnish tokenizer train "$wikitext"/wiki.train.raw* --out "$runs/tokenizer" --size 6000
burnish train pretrain/bert-tiny data.dir="$wikitext" model.tokenizer="$runs/tokenizer" "${more[@]}" --dir "$runs/pretrained"
for seed in ${SEEDS:-0}; do
  fine_tune=(burnish train "$here/finetune.yaml" data.dir="$sst2" runtime.seed="$seed" "${more[@]}")
  "${fine_tune[@]}" model.name="$runs/pretrained" --dir "$runs/from-pretrained-$seed"
  "${fine_tune[@]}" model.pretrained=false model.architecture=bert model.tokenizer="$runs/tokenizer" model.size="$size" \
    --dir "$runs/from-random-$seed"
done
burnish runs compare "$runs"/from-random-* "$runs"/from-pretrained-*
