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
rm -f /shared/jobs/train-reviews-20261118-120000/PAUSE
trap 'touch /shared/jobs/train-reviews-20261118-120000/PAUSE' USR1  # time is nearly over: the run saves
srun --no-kill --kill-on-bad-exit=0 bash -c 'BURNISH_NODE_RANK=$SLURM_NODEID exec /opt/burnish/bin/python -m burnish.launch.worker /shared/jobs/train-reviews-20261118-120000/job.json' &
step=$!
wait "$step"; code=$?
while [ "$code" = 138 ]; do wait "$step"; code=$?; done  # the trap ends the wait only
exit "$code"
