#!/bin/sh
# Installs the peers into .peers/ of the checkout: PyTorch in a virtual environment, and the LibTorch peer built from it.
# usage: setup.sh [PYTHON]   PYTHON: an interpreter with torch, used instead of installing torch; later calls remember it
# TANDEM_PEERS_INDEX: another package index for torch. PyTorch's own index for the CPU has wheels of a tenth of the size.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
peers=$here/../../.peers
mkdir -p "$peers"
peers=$(cd "$peers" && pwd)

if [ $# -gt 0 ]; then
  python=$(command -v "$1") || { echo "setup.sh: $1 is not an interpreter" >&2; exit 1; }
  "$python" -c 'import torch' || { echo "setup.sh: $python has no torch" >&2; exit 1; }
elif [ -f "$peers/interpreter" ] && "$(cat "$peers/interpreter")" -c 'import torch' 2>/dev/null; then
  python=$(cat "$peers/interpreter")
else
  python=$peers/venv/bin/python
  if ! "$python" -c 'import torch, numpy' 2>/dev/null; then
    python3 -m venv "$peers/venv" || { echo "setup.sh: python3 has no venv (Debian: python3-venv)" >&2; exit 1; }
    "$python" -m pip install --quiet ${TANDEM_PEERS_INDEX:+--index-url "$TANDEM_PEERS_INDEX"} torch
    "$python" -m pip install --quiet numpy
  fi
fi
printf '#!/bin/sh\nexec "%s" "$@"\n' "$python" > "$peers/python"
chmod +x "$peers/python"

echo "$python" > "$peers/interpreter"

stamp="$python $(cat "$here/bench_libtorch.cpp" "$here/libtorch_models.h" | sha256sum)"
if [ ! -x "$peers/bench_libtorch" ] || [ "$(cat "$peers/bench_libtorch.stamp" 2>/dev/null)" != "$stamp" ]; then
  echo "setup.sh: compiling bench_libtorch, which takes a minute"
  "$here/build_libtorch.sh" "$python" "$here/bench_libtorch.cpp" "$peers/bench_libtorch"
  echo "$stamp" > "$peers/bench_libtorch.stamp"
fi
echo "peers are ready in $peers"
