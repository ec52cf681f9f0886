#!/bin/sh
# by_launcher.sh torchrun|mpirun PROGRAM: two ranks of launch_program, started by a launcher that is not ours, find each
# other. It exits with 77, "skipped" for ctest, where the launcher is not there: torchrun of a known Python with torch;
# mpirun of Open MPI.
set -u
launcher=$1 program=$2
out=$(mktemp)
trap 'rm -f "$out"' EXIT
check() { # WORDS COMMAND...: both ranks have the sum, and rank 0 says that WORDS is where it looked
  words=$1
  shift
  "$@" >"$out" 2>&1 </dev/null || { echo "failed: $*"; cat "$out"; exit 1; }
  [ "$(grep -c 'the sum is 3' "$out")" = 2 ] || { echo "two ranks and no sum: $*"; cat "$out"; exit 1; }
  [ "$(grep -c "tandem: 2 ranks, found by $words" "$out")" = 1 ] || { echo "no word of $words: $*"; cat "$out"; exit 1; }
  echo "ran: $*"
}
case $launcher in
  torchrun)
    python=$(./python_with.sh torch) || exit
    port=$("$python" -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
    torchrun="timeout -k 5 100 $python -m torch.distributed.run --nproc-per-node 2 --no-python"
    check torchrun $torchrun --standalone "$program"
    check torchrun $torchrun --master-addr 127.0.0.1 --master-port "$port" "$program"
    # Where the agent keeps its store to itself, MASTER_PORT is free for ours.
    check torchrun env TORCH_DISABLE_SHARE_RDZV_TCP_STORE=1 $torchrun --standalone "$program"
    ;;
  mpirun)
    case $(mpirun --version 2>/dev/null) in
      *'Open MPI'*) ;;
      *) echo "skipped: there is no mpirun of Open MPI" && exit 77 ;;
    esac
    as_root=
    [ "$(id -u)" != 0 ] || as_root=--allow-run-as-root
    mpirun="timeout -k 5 100 mpirun $as_root --oversubscribe -n 2"
    check 'Open MPI' $mpirun "$program"
    check 'Open MPI' $mpirun -x MASTER_ADDR=localhost "$program"
    ;;
esac
