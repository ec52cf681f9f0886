#!/usr/bin/env bash
# sentence_embeddings.sh PROGRAM: compare.py, where its Python and the model are known; 77 where they are not.
# TANDEM_MINILM: the folder of the model
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
model=${TANDEM_MINILM:-$root/.deps/all-MiniLM-L6-v2}
python=$("$root/tests/python_with.sh" "torch, transformers, tokenizers")
if [ ! -f "$model/model.safetensors" ]; then
  echo "SKIPPED: $model has no model; examples/sentence_embeddings/fetch_model.sh fetches it"
  exit 77
fi
"$python" "$root/examples/sentence_embeddings/compare.py" "$1" "$model"
