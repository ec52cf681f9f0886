#!/bin/sh
# by_launcher.sh torchrun|mpirun|mpiexec.hydra PROGRAM: starts two ranks of launch_program by a launcher other than
# tandem launch, and checks that they find each other. Exits with 77 ("skipped" for ctest) if the launcher is missing:
# torchrun of a known Python with torch, mpirun of Open MPI, or mpiexec.hydra of MPICH.
set -u
launcher=$1 program=$2
folder=$(mktemp -d)
out=$folder/out
trap 'rm -rf "$folder"' EXIT
check() { # WORDS COMMAND...: both ranks print the sum, and rank 0 says that it was configured by WORDS
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
    # If the agent does not share its store, MASTER_PORT is free for Tandem's own store.
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
  mpiexec.hydra)
    command -v mpiexec.hydra >/dev/null || { echo "SKIPPED: there is no mpiexec.hydra; on Debian: apt install mpich"; exit 77; }
    mpiexec="timeout -k 5 100 mpiexec.hydra -n 2"
    check PMI $mpiexec "$program"
    check PMI $mpiexec sh -c '"$1"; exit' sh "$program"  # the shell makes the MPI helper the parent's parent
    # Two jobs at once: first each with its own default port, then both with one MASTER_PORT.
    for port in '' $((30000 + $$ % 2000)); do
      export MASTER_PORT=$port
      rm -f "$folder/end"
      : >"$folder/first"
      $mpiexec "$program" "go on" "$folder/end" >"$folder/first" 2>&1 </dev/null &
      until [ "$(grep -c 'goes on' "$folder/first")" = 2 ]; do
        kill -0 $! || { cat "$folder/first"; exit 1; }
        sleep 0.05
      done
      if [ -z "$port" ]; then check PMI $mpiexec "$program"
      else
        ! $mpiexec "$program" >"$out" 2>&1 </dev/null && grep -q 'the store of another job is there' "$out" || {
          echo "a second job on one port was not refused"
          cat "$out"
          exit 1
        }
      fi
      touch "$folder/end"
      wait $! || { echo "a job was disturbed by another one, MASTER_PORT=$port"; cat "$folder/first"; exit 1; }
    done
    ;;
esac
