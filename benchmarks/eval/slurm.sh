#!/bin/bash
# An evaluation in 8 parts on a Slurm of this machine: one part is killed, requeued and merged.
#
#     sudo benchmarks/eval/slurm.sh FOLDER
#
# Needs root and Debian's slurm-wlm and munge. Starts munge, slurmctld and slurmd with their files in
# FOLDER (new), and ends them. Exits with 0 if all 160 rollouts are in the merged run, once each.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$1/slurm" "$1/lab"
work=$(cd "$1" && pwd)
export SLURM_CONF=$work/slurm/slurm.conf PRIME_HOME=$work/home
started=()
end() {
  for pid in "${started[@]}"; do kill "$pid" 2>/dev/null || true; done
  wait || true
}
trap end EXIT

node=$(hostname -s)
cat > "$SLURM_CONF" <<EOF
ClusterName=lab
SlurmctldHost=$node(127.0.0.1)
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket=$work/slurm/munge.socket
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
StateSaveLocation=$work/slurm/state
SlurmdSpoolDir=$work/slurm/spool
SlurmctldPidFile=$work/slurm/slurmctld.pid
SlurmdPidFile=$work/slurm/slurmd.pid
SlurmctldPort=16817
SlurmdPort=16818
MinJobAge=3600
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SchedulerParameters=requeue_delay=1,batch_sched_delay=1,sched_min_interval=500000
NodeName=$node NodeAddr=127.0.0.1 CPUs=$(nproc) State=UNKNOWN
PartitionName=debug Nodes=ALL Default=YES MaxTime=INFINITE State=UP OverSubscribe=FORCE:2
EOF
mkdir -p "$work/slurm/state" "$work/slurm/spool"
head -c 1024 /dev/urandom > "$work/slurm/munge.key"
chmod 600 "$work/slurm/munge.key"
munged --foreground --force --key-file="$work/slurm/munge.key" --socket="$work/slurm/munge.socket" \
  --pid-file="$work/slurm/munged.pid" --log-file="$work/slurm/munged.log" --seed-file="$work/slurm/seed" 2> "$work/slurm/munged.err" &
started+=($!)
sleep 1
slurmctld -D > "$work/slurm/slurmctld.log" 2>&1 &
started+=($!)
sleep 1
slurmd -D > "$work/slurm/slurmd.log" 2>&1 &
started+=($!)
coproc MODEL { exec python "$here/mock_endpoint.py" 500; }
started+=("$MODEL_PID")
read -r port <&"${MODEL[0]}"
export OPENAI_API_KEY=planted-in-the-shell
cd "$work/lab"
run=(prime eval run "$here/environments/bench_v0" -m mock -b "http://127.0.0.1:$port/v1" -k OPENAI_API_KEY)
# One rollout prepares the interpreter, which the parts share.
"${run[@]}" -n 1 -r 1 --output-dir first --quiet > /dev/null

echo '$ prime eval run … -n 160 -r 1 -c 2 --print-job slurm --shards 8 > job.sh'
"${run[@]}" -n 160 -r 1 -c 2 --print-job slurm --shards 8 > job.sh
! grep -q planted job.sh
echo '$ bash job.sh'
bash job.sh
parts=$(echo parts/*)
journal_of() { grep -l "\"shard\": \"$1/8\"" "$parts"/evals/*/*/run.json 2>/dev/null | xargs -r dirname | sed 's#$#/journal.jsonl#'; }
lines() { local file; file=$(journal_of "$1"); [ -n "$file" ] && [ -f "$file" ] && wc -l < "$file" || echo 0; }
for _ in $(seq 300); do [ "$(lines 3)" -ge 4 ] && break; sleep 0.2; done
echo '$ squeue'
squeue --format='%.12i %.10T %.8M %.40j'
pid=$(pgrep -f -- '--shard 3/8' | head -n 1)
echo "\$ kill -9 $pid    # part 3, with $(lines 3) of 20 rollouts in its journal"
kill -9 "$pid"
for _ in $(seq 300); do
  [ -z "$(squeue --noheader --states=all --format=%T | grep -v COMPLETED)" ] && break
  sleep 1
done
echo '$ squeue --states=all'
squeue --states=all --format='%.12i %.10T %.40j'
scontrol show job "$(squeue --noheader --states=all --array --format='%i %j' | awk '/_3 /{print $1}')" | grep -o 'Restarts=[0-9]*'
echo "\$ cat $parts/slurm-3.log"
grep -v '^$' "$parts/slurm-3.log"
echo "\$ cat $parts/merge.log"
cat "$parts/merge.log"
merged=$(echo outputs/evals/*/*)
ids=$(jq -r .example_id "$merged/results.jsonl" 2>/dev/null || python -c "
import json, sys
for line in open('$merged/results.jsonl'): print(json.loads(line)['example_id'])")
[ "$(echo "$ids" | sort -n | tr '\n' ' ')" = "$(seq -s ' ' 0 159) " ]
[ "$(ls -d "$parts"/evals/*/* | wc -l)" = 8 ]
echo "160 rollouts, once each, of 8 runs"
