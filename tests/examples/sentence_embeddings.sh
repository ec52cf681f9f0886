#!/usr/bin/env bash
# sentence_embeddings.sh PROGRAM: runs compare.py if its Python packages and the model are present, else exits with 77.
# TANDEM_MINILM: folder of the model
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
model=${TANDEM_MINILM:-$root/.deps/all-MiniLM-L6-v2}
python=$("$root/tests/python_with.sh" "torch, transformers, tokenizers")
if [ ! -f "$model/model.safetensors" ]; then
  echo "SKIPPED: $model has no model; examples/sentence_embeddings/fetch_model.sh fetches it"
  exit 77
fi
"$python" "$root/examples/sentence_embeddings/compare.py" "$1" "$model"
