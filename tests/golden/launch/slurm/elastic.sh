#!/bin/bash
#SBATCH --job-name=train-reviews-20261118-120000
#SBATCH --output=/shared/jobs/train-reviews-20261118-120000/log.txt
#SBATCH --open-mode=append
#SBATCH --nodes=1-4
#SBATCH --ntasks-per-node=1
#SBATCH --no-requeue
#SBATCH --no-kill
export BURNISH_NODES="1:4"
export BURNISH_RENDEZVOUS="login:29500"
rm -f /shared/jobs/train-reviews-20261118-120000/PAUSE /shared/jobs/train-reviews-20261118-120000/result.json
trap 'touch /shared/jobs/train-reviews-20261118-120000/PAUSE' USR1  # time is nearly over: the run saves
cores=${SLURM_CPUS_PER_TASK:+--cpus-per-task=$SLURM_CPUS_PER_TASK}  # srun inherits none and takes one
[ -n "$cores" ] || [ "$SLURM_CPUS_ON_NODE" = 1 ] || cores=--cpu-bind=none  # it has whole nodes
srun $cores --no-kill --kill-on-bad-exit=0 bash -c 'BURNISH_NODE_RANK=$SLURM_NODEID exec /opt/burnish/bin/python -m burnish.launch.worker /shared/jobs/train-reviews-20261118-120000/job.json' &
step=$!
wait "$step"; code=$?
while [ "$code" = 138 ]; do wait "$step"; code=$?; done  # the trap ends the wait only
recorded=$(sed -n 's/.*"exit_code": \([0-9]*\).*/\1/p' /shared/jobs/train-reviews-20261118-120000/result.json 2>/dev/null)
code=${recorded:-$code}  # the step ends with that of a node that was lost
exit "$code"
