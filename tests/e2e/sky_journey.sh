#!/usr/bin/env bash
# A pod of Slurm, from availability to its end, with a real SkyPilot and a real Slurm.
#
#   tests/e2e/sky_journey.sh FOLDER SKYPILOT
#
# FOLDER is where `slurm_lab.sh up` has started one; SKYPILOT is a virtual environment with
# `skypilot==0.14.1`; `prime` is that of the PATH. SkyPilot's server is stopped at the end. Each
# wait is bounded. Not in CI: it takes minutes.
set -euo pipefail

lab=$(realpath "${1:?the folder of slurm_lab.sh}")
skypilot=$(realpath "${2:?a virtual environment with SkyPilot}")

# SkyPilot takes its clouds, and keeps what it makes, in the home: here that of the lab.
export HOME=$lab/sky-home PRIME_HOME=$lab/prime PRIME_CONTEXT=local
export PRIME_SKY=$skypilot/bin/sky PRIME_SKY_INFRA=slurm/lab GREETING="it's \$HOME \"fine\""
# On a busy machine SkyPilot needs ten seconds and more for a way into a job.
wait=(--timeout 5m)
export SKYPILOT_DISABLE_USAGE_COLLECTION=1 SLURM_CONF=$lab/slurm.conf
# Whoever runs this may be in a virtual environment; its `sky` must not be found by chance.
trap '"$skypilot/bin/sky" api stop' EXIT

show() {
    local word words=""
    for word in "$@"; do
        case "$word" in *\ *) word="'$word'" ;; esac
        words="$words $word"
    done
    printf '\n$%s\n' "$words"
    "$@" 2>&1
}

# SkyPilot takes half a minute to end a job; the next look says so.
until_idle() {
    for _ in $(seq 60); do
        test -n "$(squeue --noheader)" || break
        sleep 2
    done
}

"$skypilot/bin/sky" check slurm >/dev/null 2>&1
show prime availability list --provider sky
id=$(prime availability list --provider sky --output plain 2>/dev/null | cut -f1)
show prime pods create --id "$id" --name first --vcpus 1 --env GREETING --for 30m --yes --wait
show prime pods status first
show prime pods exec "${wait[@]}" first -- sh -c 'echo "$GREETING" from $(hostname)'
cd "$lab/sky-home"
echo "it came, and went" >"a note"
show prime pods cp "${wait[@]}" "a note" first:
show prime pods cp "${wait[@]}" "first:a note" back
show cmp "a note" back
show squeue --format '%j %T %l'
show prime pods logs first --tail 4
show prime gc --dry-run
show prime pods terminate first --yes
until_idle
show prime pods create --id "$id" --name both --vcpus 1 --nodes 2 --env GREETING --for 30m --yes --wait
show prime pods exec "${wait[@]}" --node 0 both -- sh -c 'echo "$GREETING" from $(hostname)'
show prime pods exec "${wait[@]}" --node 1 both -- sh -c 'echo "$GREETING" from $(hostname)'
show squeue --format '%j %T %N'
show prime pods terminate both --yes
until_idle
show prime pods list
show squeue --format '%j %T %l'
show prime pods history
