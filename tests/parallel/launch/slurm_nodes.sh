#!/bin/bash
# slurm_nodes.sh FOLDER COMMAND...: runs the command on the head node of a real Slurm cluster whose nodes all run on
# this machine: tn1 and tn2, and in the partition `three` also tn3. Each node has its own network, host name and
# processes (namespaces), reaches the others over a bridge only, and shares no memory with them. Returns the command's
# exit status, or 77 with the reason if this machine cannot run Slurm. Needs root, and Debian's packages slurmctld
# slurmd slurm-client munge iproute2; needs neither systemd nor cgroups. FOLDER must be empty, and gets Slurm's state
# and logs. Nothing outside FOLDER changes. All processes and networks end with this script.
set -euo pipefail
export PATH=$PATH:/usr/sbin:/sbin
nodes=(tn1 tn2 tn3) cpus=4 net=10.77.0
in_namespaces=(unshare --net --uts --ipc --pid --mount --fork --kill-child --mount-proc)
skip() { echo "SKIPPED: $*"; exit 77; }

check_machine() {
  local program
  for program in slurmctld slurmd srun sbatch scancel munged ip unshare; do
    command -v $program > /dev/null ||
      skip "there is no $program; on Debian: apt install slurmctld slurmd slurm-client munge iproute2"
  done
  [[ $(id -u) = 0 ]] || skip "Slurm's daemons and namespaces need root"
  local why
  why=$("${in_namespaces[@]}" sh -c 'ip link add probe type bridge && ip link add probe0 type veth peer name probe1' 2>&1) ||
    skip "there are no namespaces, bridges or pairs of network devices here: $why"
}

write_config() {
  cat > "$folder/slurm.conf" <<END
ClusterName=here
SlurmctldHost=head($net.1)
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
CredType=cred/munge
AuthInfo=socket=$folder/munge/socket
StateSaveLocation=$folder/state
SlurmctldPidFile=$folder/slurmctld.pid
SlurmctldLogFile=$folder/slurmctld.log
SlurmdSpoolDir=$folder/spool_%n
SlurmdPidFile=$folder/slurmd_%n.pid
SlurmdLogFile=$folder/slurmd_%n.log
TmpFS=$folder/tmp_%n
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SlurmdParameters=config_overrides
MpiDefault=none
ReturnToService=2
SchedulerParameters=sched_interval=1,batch_sched_delay=0
KillWait=5
InactiveLimit=0
END
  local i
  for i in "${!nodes[@]}"; do echo "NodeName=${nodes[i]} NodeAddr=$net.$((i + 2)) CPUs=$cpus"; done >> "$folder/slurm.conf"
  printf '%s\n' "PartitionName=two Nodes=tn1,tn2 Default=YES State=UP" "PartitionName=three Nodes=tn1,tn2,tn3 State=UP" \
    >> "$folder/slurm.conf"
}

# Runs in the namespaces of a node: waits for the node's network device, then becomes its slurmd.
run_node() { # NAME ADDRESS
  local i
  hostname "$1"
  ip link set lo up
  for ((i = 0; i < 200; i++)); do
    ip link show eth0 > /dev/null 2>&1 && break
    sleep 0.05
  done
  ip address add "$2/24" dev eth0
  ip link set eth0 up
  exec slurmd -D -f "$SLURM_CONF"
}

# Runs in the namespaces of the head node, as their first process: when it ends, all other processes end.
run_head() { # COMMAND...
  hostname head
  ip link set lo up
  ip link add name wire type bridge
  ip address add "$net.1/24" dev wire
  ip link set wire up
  local i outer
  {
    echo "127.0.0.1 localhost"
    echo "$net.1 head"
    for i in "${!nodes[@]}"; do echo "$net.$((i + 2)) ${nodes[i]}"; done
  } > "$folder/hosts"
  mount --bind "$folder/hosts" /etc/hosts  # visible in this mount namespace and those of the nodes

  (umask 077 && head -c 128 /dev/urandom > "$folder/munge/key")
  munged --force --key-file "$folder/munge/key" --socket "$folder/munge/socket" --pid-file "$folder/munge/pid" \
    --log-file "$folder/munge/log" --seed-file "$folder/munge/seed" --num-threads 1 2> "$folder/munge/said" ||
    skip "munged does not start: $(cat "$folder/munge/said")"
  slurmctld -c || skip "slurmctld does not start: $(tail -n 3 "$folder/slurmctld.log")"
  outer=$(readlink /proc/self/ns/net)
  for i in "${!nodes[@]}"; do
    "${in_namespaces[@]}" "$0" --node "$folder" "${nodes[i]}" "$net.$((i + 2))" > "$folder/${nodes[i]}.out" 2>&1 &
    until [[ $(readlink "/proc/$!/ns/net") != "$outer" ]]; do sleep 0.01; done
    ip link add "wire$i" type veth peer name eth0 netns $!
    ip link set "wire$i" master wire up
  done
  local deadline=$((SECONDS + 30))
  until [[ $(sinfo -h -p three -N -o %T 2> /dev/null | sort | uniq -c | xargs) = "${#nodes[@]} idle" ]]; do
    ((SECONDS < deadline)) || skip "Slurm's nodes are not idle after 30 s: $(tail -n 5 "$folder"/*.log "$folder"/*.out)"
    sleep 0.1
  done
  "$@"
}

case ${1:-} in
  --head) folder=$2 SLURM_CONF=$2/slurm.conf ;;
  --node) folder=$2 SLURM_CONF=$2/slurm.conf ;;
  *)
    (($# > 1)) || { sed -n '2,/^set/{/^set/d;s/^# \?//p}' "$0" >&2; exit 2; }
    folder=$(realpath "$1")
    check_machine
    mkdir -p "$folder"/{state,munge} "${nodes[@]/#/$folder/tmp_}"
    chmod 755 "$folder" "$folder/munge"
    write_config
    exec "${in_namespaces[@]}" "$0" --head "$folder" "${@:2}" ;;
esac
export SLURM_CONF
case $1 in
  --head) run_head "${@:3}" ;;
  --node) run_node "$3" "$4" ;;
esac
