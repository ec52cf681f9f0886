#!/bin/sh
# Makes the peers ready in .peers/ of the checkout: PyTorch in a virtual environment, the LibTorch peer built from it.
# usage: setup.sh [PYTHON]   PYTHON: an interpreter that has torch, to use instead of installing it
# TANDEM_PEERS_INDEX names another package index for torch (PyTorch's own has wheels without CUDA, a tenth of the size).
set -eu
here=$(cd "$(dirname "$0")" && pwd)
peers=$here/../../.peers
mkdir -p "$peers"
peers=$(cd "$peers" && pwd)

if [ $# -gt 0 ]; then
  python=$(command -v "$1") || { echo "setup.sh: $1 is not an interpreter" >&2; exit 1; }
  "$python" -c 'import torch' || { echo "setup.sh: $python has no torch" >&2; exit 1; }
else
  python=$peers/venv/bin/python
  if ! "$python" -c 'import torch, numpy' 2>/dev/null; then
    python3 -m venv "$peers/venv" || { echo "setup.sh: python3 has no venv (Debian: python3-venv)" >&2; exit 1; }
    index=${TANDEM_PEERS_INDEX:-https://download.pytorch.org/whl/cpu}
    "$python" -m pip install --quiet --index-url "$index" torch ||
      { echo "setup.sh: $index does not answer; torch from pip's own index instead" >&2
        "$python" -m pip install --quiet torch; }
    "$python" -m pip install --quiet numpy
  fi
fi
printf '#!/bin/sh\nexec "%s" "$@"\n' "$python" > "$peers/python"
chmod +x "$peers/python"

source=$here/libtorch_peers.cpp
stamp="$python $(sha256sum < "$source")"
if [ ! -x "$peers/libtorch_peers" ] || [ "$(cat "$peers/stamp" 2>/dev/null)" != "$stamp" ]; then
  "$here/build_libtorch.sh" "$python" "$source" "$peers/libtorch_peers"
  echo "$stamp" > "$peers/stamp"
fi
echo "peers are ready: $peers/python $here/torch_peers.py, $peers/libtorch_peers"
