# Picklock's adapter protocol, version 1, and the kinds of locks of version 2, for a lock in bash 5.1 or later. Needs no
# other program.
#
# `serve` reads requests from standard input and answers them; docs/protocol.md of Picklock describes
# them. Output of your lock is redirected to standard error, which goes to the worker's log.
#
# You define, in bash:
#   open_lock TIMEOUT_MS NODE...   the nodes are URLs such as redis://HOST:PORT
#   acquire KEY TTL_MS WAIT_MS     call `grant TOKEN [FENCE]`, and return 0; or return 1: refused
#   extend KEY TOKEN TTL_MS        the same; omit it if the lock cannot be extended
#   release KEY TOKEN              return 0: released, 1: it was no longer ours
#   set_capacity PERMITS           only for a semaphore: called before the first acquire, with the number of permits that
#                                  it may grant at the same time. `acquire` takes one of them
#   acquire_permits KEY PERMITS TTL_MS WAIT_MS   as acquire, for all of these permits or none; omit it for one at a time
#   acquire_shared KEY TTL_MS WAIT_MS            only for a read/write lock: as acquire, which then is for a writer
#   min_hold_ms=MS                 only if the lock keeps its key for up to this time after a release, on purpose
#   terminate                      clean up after SIGTERM; without it, SIGTERM ends the process at once
# If one of them fails, it calls `fail definite|unclear MESSAGE` and returns 2. `definite` means that the request
# certainly had no effect: no key was changed. When in doubt, use `unclear`.
#
# Variables of this file that must survive these calls begin with _pl_, so that variables that your lock does not
# declare as local do not overwrite them.

if ((BASH_VERSINFO[0] * 100 + BASH_VERSINFO[1] < 501)); then
    echo "bash 5.1 or later is needed; this is $BASH_VERSION" >&2
    exit 1
fi

# Standard output is reserved for the protocol.
exec {picklock_output}>&1 1>&2

# Resolution of the clock below.
readonly CLOCK_STEP_MS=10

# Sets $now_ms to milliseconds on a monotonic clock. EPOCHREALTIME is the wall clock, which may jump.
now() {
    local up _
    read -r up _ </proc/uptime
    now_ms=$((10#${up/./} * 10))
}

# try_for WAIT_MS COMMAND...: calls the command until it succeeds, fails with 2 or more, or the wait is over. If the wait
# is 0, calls it once. For locks that do not wait by themselves. It records when the command that took the lock was
# sent. Otherwise the answer has no `valid_ms`, and Picklock bounds the lease by its own clock.
try_for() {
    local _pl_wait_ms=$1 _pl_began _pl_status _pl_pause_ms
    shift
    now && _pl_began=$now_ms
    while :; do
        now && asked_at_ms=$now_ms
        "$@" && return 0
        _pl_status=$?
        asked_at_ms=
        _pl_pause_ms=$((10 + RANDOM % 40))
        now
        if ((_pl_status > 1 || now_ms - _pl_began + _pl_pause_ms >= _pl_wait_ms)); then return "$_pl_status"; fi
        sleep "0.0$_pl_pause_ms"
    done
}

grant() { granted_token=$1 granted_fence=${2:-}; }

fail() { failed_definite=$1 failed_message=$2; }

# Computes the milliseconds since $1, rounded down.
elapsed_since() {
    now
    elapsed_ms=$((now_ms - $1 - CLOCK_STEP_MS))
    ((elapsed_ms >= 0)) || elapsed_ms=0
}

# Reads a field of the request: a text or a number.
field() {
    local pattern="[{,] *\"$1\" *: *(\"([^\"\\\\]*)\"|([0-9]+)) *[,}]"
    value=
    # Texts with escape sequences are not supported.
    [[ $_pl_request =~ $pattern ]] || return 1
    value=${BASH_REMATCH[2]}${BASH_REMATCH[3]}
}

need() {
    field "$1" && return
    fail definite "the request has no \`$1\`, or one with escape sequences"
    return 2
}

quote() {
    quoted=${1//\\/\\\\}
    quoted=\"${quoted//\"/\\\"}\"
    quoted=${quoted//[[:cntrl:]]/ }
}

answer() { printf '{"id":%s,%s}\n' "$_pl_id" "$1" >&"$picklock_output"; }

answer_error() {
    quote "${failed_message:-it failed with status $1}"
    local definite=false
    [[ ${failed_definite:-} == definite ]] && definite=true
    answer "\"reply\":\"error\",\"message\":$quoted,\"definite\":$definite"
}

# answer_grant TTL_MS
answer_grant() {
    local text valid_ms
    quote "$granted_token"
    text="\"reply\":\"granted\",\"token\":$quoted"
    [[ -z $granted_fence ]] || text+=",\"fence\":$granted_fence"
    # Computed before `valid_ms`, so that the time between the two cannot lengthen the lease.
    elapsed_since "$_pl_read_at_ms"
    if [[ -n $asked_at_ms ]]; then
        now
        valid_ms=$(($1 - (now_ms - asked_at_ms) - CLOCK_STEP_MS))
        text+=",\"valid_ms\":$((valid_ms > 0 ? valid_ms : 0))"
    fi
    answer "$text,\"elapsed_ms\":$elapsed_ms"
}

answer_init() {
    local _pl_protocol _pl_timeout_ms _pl_nodes pattern='"nodes" *: *\[([^]]*)\]'
    need protocol && _pl_protocol=$value && need timeout_ms && _pl_timeout_ms=$value || return
    if [[ $_pl_protocol != 1 ]]; then
        fail definite "only version 1 of the protocol is supported"
        return 2
    fi
    if [[ $_pl_request =~ \"options\"\ *:\ *\{\ *[^}\ ] ]]; then
        fail definite "this lock has no options"
        return 2
    fi
    [[ $_pl_request =~ $pattern ]] || return 2
    IFS=', ' read -ra _pl_nodes <<<"${BASH_REMATCH[1]//\"/}"
    open_lock "$_pl_timeout_ms" "${_pl_nodes[@]}" || return
    _pl_opened=yes
    local _pl_kind=mutex
    if is_defined set_capacity; then
        _pl_kind=semaphore
        field capacity || value=1
        set_capacity "$value" || return
    elif is_defined acquire_shared; then
        _pl_kind=rwlock
    fi
    local ready="\"extends\":$(yes_or_no extend),\"min_hold_ms\":${min_hold_ms:-0}"
    if [[ $_pl_request =~ \"protocols\"\ *:\ *\[[^]]*2 ]]; then
        ready+=",\"protocol\":2,\"kinds\":[\"$_pl_kind\"],\"several_permits\":$(yes_or_no acquire_permits)"
    fi
    answer "\"reply\":\"ready\",\"name\":\"$1\",\"version\":\"$2\",$ready"
}

is_defined() { declare -F "$1" >/dev/null; }

yes_or_no() { if is_defined "$1"; then echo true; else echo false; fi; }

# acquire_as_requested KEY TTL_MS WAIT_MS: takes the lock or some permits of it, or lets a reader in.
acquire_as_requested() {
    if field mode && [[ $value == shared ]]; then
        acquire_shared "$@"
    elif field permits; then
        acquire_permits "$1" "$value" "${@:2}"
    else
        acquire "$@"
    fi
}

answer_lock() {
    local _pl_key _pl_token _pl_ttl_ms _pl_status=0
    if [[ -z ${_pl_opened:-} ]]; then
        fail definite "\`init\` must come first"
        return 2
    fi
    need key && _pl_key=$value || return
    case $_pl_op in
        acquire)
            need ttl_ms && _pl_ttl_ms=$value && need wait_ms || return
            acquire_as_requested "$_pl_key" "$_pl_ttl_ms" "$value" || _pl_status=$?
            ;;
        extend)
            if ! is_defined extend; then
                answer '"reply":"unsupported"'
                return
            fi
            need token && _pl_token=$value && need ttl_ms && _pl_ttl_ms=$value || return
            extend "$_pl_key" "$_pl_token" "$_pl_ttl_ms" || _pl_status=$?
            ;;
        release)
            need token || return
            release "$_pl_key" "$value" || _pl_status=$?
            ((_pl_status > 1)) && return "$_pl_status"
            local released=true
            ((_pl_status == 0)) || released=false
            answer "\"reply\":\"released\",\"released\":$released"
            return
            ;;
    esac
    case $_pl_status in
        0) answer_grant "$_pl_ttl_ms" ;;
        1) answer '"reply":"refused"' ;;
        *) return "$_pl_status" ;;
    esac
}

# serve NAME VERSION: answers requests until standard input ends.
serve() {
    local _pl_request _pl_op _pl_id _pl_read_at_ms
    # 143 is the status that a shell reports for SIGTERM.
    if is_defined terminate; then trap 'terminate; exit 143' TERM; fi
    while IFS= read -r _pl_request; do
        now && _pl_read_at_ms=$now_ms
        failed_message= failed_definite= granted_token= granted_fence= asked_at_ms=
        if ! field id; then
            echo "not a request: $_pl_request" >&2
            continue
        fi
        _pl_id=$value
        field op
        _pl_op=$value
        case $_pl_op in
            ping) answer '"reply":"pong"' ;;
            init) answer_init "$@" || answer_error "$?" ;;
            acquire | extend | release) answer_lock || answer_error "$?" ;;
            *)
                fail definite "unknown op $_pl_op"
                answer_error 2
                ;;
        esac
    done
}
