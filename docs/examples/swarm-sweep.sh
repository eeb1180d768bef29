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
part=1
while [ "$part" -le "$parts" ]; do
    mkdir -p "$folder/$part"
    part=$((part + 1))
done
# Exit code 1 means that something was found: the part has done its work.
docker service create --detach --quiet --name picklock-sweep --mode replicated-job --replicas "$parts" \
    --restart-condition on-failure --env 'PICKLOCK_SHARD={{.Task.Slot}}' --entrypoint sh \
    --mount "type=bind,source=$folder/{{.Task.Slot}},target=/finds" \
    "$image" -c "picklock sweep --shard auto/$parts --quiet --out /finds $*; test \$? -le 1"
