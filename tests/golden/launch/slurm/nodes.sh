#!/bin/bash
#SBATCH --job-name=train-reviews-20261118-120000
#SBATCH --output=/shared/jobs/train-reviews-20261118-120000/log.txt
#SBATCH --open-mode=append
#SBATCH --nodes=4
#SBATCH --ntasks-per-node=1
#SBATCH --gres=gpu:a100:8
#SBATCH --requeue
first=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)
export BURNISH_NODES="4"
export BURNISH_RENDEZVOUS="${first:-localhost}:$((29400 + SLURM_JOB_ID % 1000))"
rm -f /shared/jobs/train-reviews-20261118-120000/PAUSE /shared/jobs/train-reviews-20261118-120000/result.json
trap 'touch /shared/jobs/train-reviews-20261118-120000/PAUSE' USR1  # time is nearly over: the run saves
cores=${SLURM_CPUS_PER_TASK:+--cpus-per-task=$SLURM_CPUS_PER_TASK}  # srun inherits none and takes one
[ -n "$cores" ] || [ "$SLURM_CPUS_ON_NODE" = 1 ] || cores=--cpu-bind=none  # it has whole nodes
srun $cores --kill-on-bad-exit=1 bash -c 'BURNISH_NODE_RANK=$SLURM_NODEID exec /opt/burnish/bin/python -m burnish.launch.worker /shared/jobs/train-reviews-20261118-120000/job.json' &
step=$!
wait "$step"; code=$?
while [ "$code" = 138 ]; do wait "$step"; code=$?; done  # the trap ends the wait only
recorded=$(sed -n 's/.*"exit_code": \([0-9]*\).*/\1/p' /shared/jobs/train-reviews-20261118-120000/result.json 2>/dev/null)
is_preempted() { scontrol show job "$SLURM_JOB_ID" --oneliner | grep -q " PreemptTime=[0-9]"; }
if [ "${recorded:-$code}" = 75 ] && [ ! -e /shared/jobs/train-reviews-20261118-120000/STOP ] && { [ -e /shared/jobs/train-reviews-20261118-120000/PAUSE ] || is_preempted; }; then
  echo "saved to make room, and back into the queue"
  scontrol requeue "$SLURM_JOB_ID" && sleep 60
fi
exit "$code"
