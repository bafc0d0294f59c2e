#!/bin/bash
#SBATCH --job-name=tune-reviews-20261118-120000
#SBATCH --output=/shared/jobs/tune-reviews-20261118-120000/log.txt
#SBATCH --open-mode=append
#SBATCH --array=0-3
#SBATCH --nodes=1
#SBATCH --ntasks-per-node=1
#SBATCH --no-requeue
export BURNISH_NODES="1"
export BURNISH_RENDEZVOUS=""
mkdir -p /shared/jobs/tune-reviews-20261118-120000/trials
if [ "$SLURM_ARRAY_TASK_ID" != 0 ]; then  # trains what the first element asks for
exec >> /shared/jobs/tune-reviews-20261118-120000/trials/"$SLURM_ARRAY_TASK_ID".txt 2>&1
cores=${SLURM_CPUS_PER_TASK:+--cpus-per-task=$SLURM_CPUS_PER_TASK}  # srun inherits none and takes one
[ -n "$cores" ] || [ "$SLURM_CPUS_ON_NODE" = 1 ] || cores=--cpu-bind=none  # it has whole nodes
srun $cores --kill-on-bad-exit=1 --container-image=registry/team/burnish:1 --container-mounts=/shared/jobs:/shared/jobs bash -c 'exec /opt/burnish/bin/python -m burnish.tuning.array_trials /shared/jobs/tune-reviews-20261118-120000' &
step=$!
wait "$step"; code=$?
while [ "$code" = 138 ]; do wait "$step"; code=$?; done  # the trap ends the wait only
exit "$code"
fi
export BURNISH_ARRAY=/shared/jobs/tune-reviews-20261118-120000/trials:4
rm -f /shared/jobs/tune-reviews-20261118-120000/PAUSE /shared/jobs/tune-reviews-20261118-120000/result.json
trap 'touch /shared/jobs/tune-reviews-20261118-120000/PAUSE' USR1  # time is nearly over: the run saves
cores=${SLURM_CPUS_PER_TASK:+--cpus-per-task=$SLURM_CPUS_PER_TASK}  # srun inherits none and takes one
[ -n "$cores" ] || [ "$SLURM_CPUS_ON_NODE" = 1 ] || cores=--cpu-bind=none  # it has whole nodes
srun $cores --kill-on-bad-exit=1 --container-image=registry/team/burnish:1 --container-mounts=/shared/jobs:/shared/jobs bash -c 'BURNISH_NODE_RANK=$SLURM_NODEID exec /opt/burnish/bin/python -m burnish.launch.worker /shared/jobs/tune-reviews-20261118-120000/job.json' &
step=$!
wait "$step"; code=$?
while [ "$code" = 138 ]; do wait "$step"; code=$?; done  # the trap ends the wait only
touch /shared/jobs/tune-reviews-20261118-120000/trials/over-"$SLURM_ARRAY_JOB_ID"
scancel --state=PENDING "$SLURM_ARRAY_JOB_ID"
exit "$code"
