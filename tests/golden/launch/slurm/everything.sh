#!/bin/bash
#SBATCH --job-name=train-reviews-20261118-120000
#SBATCH --output=/shared/jobs/train-reviews-20261118-120000/log.txt
#SBATCH --open-mode=append
#SBATCH --partition=gpu
#SBATCH --account=nlp
#SBATCH --qos=high
#SBATCH --time=1-12:00:00
#SBATCH --nodes=1
#SBATCH --ntasks-per-node=1
#SBATCH --cpus-per-task=8
#SBATCH --mem=64G
#SBATCH --gres=gpu:4
#SBATCH --signal=B:USR1@300
#SBATCH --requeue
#SBATCH --exclusive
#SBATCH --mail-user=a@b.c
module load cuda
export BURNISH_NODES="1"
export BURNISH_RENDEZVOUS=""
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
