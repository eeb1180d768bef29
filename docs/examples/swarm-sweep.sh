#!/bin/sh
# A sweep in parts, as a job of a Docker Swarm:
#
#   swarm-sweep.sh IMAGE FOLDER PARTS [OPTIONS OF THE SWEEP]
#
# Each part leaves FOLDER/PART/search.json; FOLDER must be on every machine of the swarm. A part whose task dies is
# done again. `picklock merge FOLDER/*/search.json` joins them.
set -eu
image=$1 folder=$2 parts=$3
shift 3
# The tasks of a job are counted from 0, and the first one is told the name of its machine instead of a number.
# Exit code 1 means that something was found: the part has done its work.
docker service create --detach --quiet --name picklock-sweep --mode replicated-job --replicas "$parts" \
    --restart-condition on-failure --env 'TASK={{.Task.Slot}}' --entrypoint sh \
    --mount "type=bind,source=$folder,target=/finds" \
    "$image" -c "case \$TASK in *[!0-9]*) TASK=0 ;; esac; part=\$((TASK + 1))
        picklock sweep --shard \$part/$parts --quiet --out /finds/\$part $*; test \$? -le 1"
