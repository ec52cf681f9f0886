#!/bin/bash
# slurm_test.sh TANDEM PROGRAM: starts ranks of launch_program by a real Slurm on its nodes (slurm_nodes.sh), and checks
# that they find each other, get the right local ranks, and report errors. Exits with 77 ("skipped" for ctest) and the
# reason if Slurm cannot run here. Ends within 150 s, together with all processes that it started.
set -uo pipefail
cd "$(dirname "$0")"
self=$PWD/slurm_test.sh

if [[ ${1:-} != --on-head ]]; then
  folder=$(mktemp -d)
  trap 'rm -rf "$folder" 2> /dev/null || { sleep 1; rm -rf "$folder"; }' EXIT
  trap 'kill -KILL $!; wait $!; exit 1' INT TERM
  # Each of these processes ends when its parent ends, even if the parent is killed.
  setpriv --pdeathsig KILL timeout -k 5 150 \
    setpriv --pdeathsig KILL ./slurm_nodes.sh "$folder" "$self" --on-head "$1" "$2" "$folder" &
  wait $!
  exit
fi
tandem=$2 program=$3 out=$4/test/out
mkdir "$4/test"
cd "$4/test"

# says TIMES TEXT: the last command's output contains TEXT exactly TIMES times.
says() {
  [[ $(grep -cF -- "$2" "$out") = "$1" ]] || { echo "failed: '$2' is not said $1 times by: $last"; cat "$out"; exit 1; }
}
# starts STATUS COMMAND...: runs COMMAND, which must end with STATUS (+: any except 0 and a timeout's).
starts() {
  local status=0 wanted=$1 start=$SECONDS
  shift
  last=$*
  timeout -k 5 60 "$@" > "$out" 2>&1 < /dev/null || status=$?
  [[ $status = "$wanted" || ($wanted = + && $status != 0 && $status != 124 && $status != 137) ]] || {
    echo "failed: status $status, not $wanted, of: $last"
    cat "$out"
    exit 1
  }
  echo "ran in $((SECONDS - start)) s: $last"
}

begun=$SECONDS
starts 0 srun -N2 -n3 "$program" sum
says 3 "the sum is 6"
says 1 "tandem: 3 ranks, found by Slurm (SLURM_PROCID and SLURM_STEP_NUM_TASKS; address: SLURM_STEP_NODELIST; port: from"
starts 0 env RANK=1 LOCAL_RANK=7 srun -N2 -n3 "$program" sum  # RANK alone does not name a launcher
says 3 "the sum is 6"

# If PMI variables are set beside Slurm's, the step's values are used, and there are local ranks.
for mpi in none pmi2; do
  starts 0 srun --mpi=$mpi -N2 -n3 "$program" "local rank"
  says 1 "rank 0 has the local rank 0"
  says 1 "rank 1 has the local rank 1"
  says 1 "rank 2 has the local rank 0"
done
starts 0 srun --mpi=pmi2 -N2 -n3 "$program" sum
says 3 "the sum is 6"

# Two steps at once in one allocation; the second runs on tn2 only.
cat > two_steps <<END
#!/bin/bash
: > first
srun --mpi=pmi2 --exact -N1 -n2 -w tn1 "$program" "go on" "$PWD/end" > first &
until grep -q "goes on" first; do sleep 0.05; done
srun --mpi=pmi2 --exact -N1 -n2 -w tn2 "$program" sum || exit
touch end
wait \$! && cat first
END
chmod +x two_steps
starts 0 salloc -N2 -n4 --ntasks-per-node=2 ./two_steps
says 4 "the sum is 3"
says 2 "tandem: 2 ranks, found by Slurm"

# Rank 0 runs on another node than the first.
printf '%s\n' tn2 tn1 tn1 > hosts
starts 0 env SLURM_HOSTFILE="$PWD/hosts" srun -N2 -n3 -m arbitrary "$program" sum
says 3 "the sum is 6"
says 1 "address: SLURM_STEP_NODELIST and SLURM_GTIDS"
starts 0 srun --mpi=pmi2 -N2 -n3 -m arbitrary -w tn2,tn1,tn2 "$program" sum
says 3 "the sum is 6"
printf '%s\n' tn3 tn1 tn2 > hosts
starts 0 env SLURM_HOSTFILE="$PWD/hosts" srun -p three -N3 -n3 -m arbitrary "$program" sum
says 3 "the sum is 6"
says 1 "address: SLURM_STEP_NODELIST and SLURM_HOSTFILE"
starts 3 srun -p three -N3 -n3 -m arbitrary -w tn3,tn1,tn2 "$program" sum  # Slurm tells no task the node of rank 0
says 3 "has put rank 0 on one of 3 nodes, but Slurm does not say on which"

# Shells of an allocation are no ranks. The program reports that.
starts 3 salloc -N2 -n3 "$program" sum
says 1 "of 3 tasks, but is not a task of a step"
starts 3 salloc -N2 -n3 srun --interactive --preserve-env "$program" sum
says 1 "(a shell of salloc is one process); start the ranks by \`srun PROGRAM\`"
starts 3 sbatch --wait -N2 -n3 -o "$PWD/batch" --wrap "'$program' sum"
grep -q "(a batch script runs once)" batch || { cat batch; exit 1; }
starts 0 sbatch --wait -N2 -n4 -o "$PWD/batch" --wrap "srun '$program' sum"
[[ $(grep -c "the sum is 10" batch) = 4 ]] || { cat batch; exit 1; }

# Two jobs use one port: the second is refused, the first continues.
export MASTER_ADDR=tn1 MASTER_PORT=29500
rm -f end
: > first
timeout -k 5 60 srun -N2 -n2 "$program" "go on" "$PWD/end" > first 2>&1 < /dev/null &
until [[ $(grep -c "goes on" first) = 2 ]]; do kill -0 $! 2> /dev/null || { cat first; exit 1; }; sleep 0.05; done
starts + srun -N2 -n2 "$program" sum
says 1 "; the store of another job is there"
says 1 "refuses this job token: the store of another job is there"
touch end
wait $! || { echo "failed: the first of two jobs on one port"; cat first; exit 1; }
unset MASTER_ADDR MASTER_PORT

# A rank that fails, a rank that is killed with its job, and tandem launch as the tasks.
starts + srun --kill-on-bad-exit=1 -N2 -n3 "$program" throw
says 1 "error: no data here"
: > first
timeout -k 5 60 srun -J doomed -N2 -n3 "$program" "go on" "$PWD/never" > first 2>&1 < /dev/null &
until [[ $(grep -c "goes on" first) = 3 ]]; do kill -0 $! 2> /dev/null || { cat first; exit 1; }; sleep 0.05; done
starts 0 scancel -n doomed
wait $! && { echo "failed: a cancelled job ended well"; exit 1; }
starts 0 env TANDEM_JOB_TOKEN=of_this_test srun -N2 -n2 --ntasks-per-node=1 \
  "$tandem" launch --nodes 2 --rdzv tn1:29400 -n 2 -- "$program" sum
says 4 "the sum is 10"

# mpiexec of MPICH and mpirun of Open MPI, which start their helpers by srun.
if command -v mpiexec.hydra > /dev/null; then
  starts 0 salloc -N2 -n3 mpiexec.hydra -n 3 "$program" sum
  says 3 "the sum is 6"
  says 1 "tandem: 3 ranks, found by PMI (PMI_RANK and PMI_SIZE; address: SLURM_JOB_NODELIST; port: from the control port of"
else
  echo "SKIPPED in part: there is no mpiexec.hydra; on Debian: apt install mpich"
fi
if command -v mpirun.openmpi > /dev/null; then
  export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
  starts 0 salloc -N2 -n3 mpirun.openmpi -n 3 "$program" sum
  says 3 "the sum is 6"
  says 1 "found by Open MPI (OMPI_COMM_WORLD_RANK and OMPI_COMM_WORLD_SIZE; address: SLURM_JOB_NODELIST; port: from"
else
  echo "SKIPPED in part: there is no mpirun.openmpi; on Debian: apt install openmpi-bin"
fi
echo "all ran, in $((SECONDS - begun)) s, by $(srun --version)"
