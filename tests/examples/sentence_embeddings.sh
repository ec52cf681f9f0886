#!/usr/bin/env bash
# sentence_embeddings.sh PROGRAM: compare.py, where its Python and the model are known; 77 where they are not.
# TANDEM_PEERS_PYTHON: a Python with torch, transformers and tokenizers; TANDEM_MINILM: the folder of the model
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
model=${TANDEM_MINILM:-$root/.deps/all-MiniLM-L6-v2}
python=${TANDEM_PEERS_PYTHON:-$root/.peers/python}
if ! command -v "$python" >/dev/null; then
  echo "SKIPPED: TANDEM_PEERS_PYTHON names no Python with torch, transformers and tokenizers"
  exit 77
fi
if [ ! -f "$model/model.safetensors" ]; then
  echo "SKIPPED: $model has no model; examples/sentence_embeddings/fetch_model.sh fetches it"
  exit 77
fi
"$python" "$root/examples/sentence_embeddings/compare.py" "$1" "$model"
