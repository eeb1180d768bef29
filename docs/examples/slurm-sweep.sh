#!/bin/sh
# A sweep in eight parts, as a SLURM array: `sbatch slurm-sweep.sh`. When all are done,
# `picklock merge part-*/search.json` joins them.
#SBATCH --job-name=picklock-sweep
#SBATCH --array=0-7
#SBATCH --cpus-per-task=2
#SBATCH --time=01:00:00

picklock sweep --impl redlock --depth 2 --shard auto/8 --quiet --out "part-$SLURM_ARRAY_TASK_ID"
# Exit code 1 means that something was found: the part has done its work.
test $? -le 1
