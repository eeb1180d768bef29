# A minimal Redis client, so that the example lock needs no other program. It has one connection to one server, which is
# opened when a command needs it, and closed when a command fails, so that a late reply is not mistaken for the reply to
# the next command. No command is sent twice.

# A connection that the server has closed makes one command fail, and must not end this program.
trap '' PIPE

# redis_server redis://HOST:PORT TIMEOUT_MS
redis_server() {
    if [[ ! $1 =~ ^redis://([^:/]+):([0-9]+)/?$ ]]; then
        fail definite "$1: only redis://HOST:PORT is supported"
        return 2
    fi
    redis_host=${BASH_REMATCH[1]} redis_port=${BASH_REMATCH[2]} redis_connection=
    printf -v redis_timeout '%d.%03d' $(($2 / 1000)) $(($2 % 1000))
}

# redis WORD...: sends a command and sets $reply, to `nil` for a null reply. Returns 0, or 2 on failure. An error reply
# is definite, because the server has refused the command.
redis() {
    local LC_ALL=C word command
    if [[ -z $redis_connection ]] && ! redis_connect; then
        fail unclear "cannot connect to $redis_host:$redis_port"
        return 2
    fi
    printf -v command '*%d\r\n' $#
    for word; do printf -v word '$%d\r\n%s\r\n' "${#word}" "$word" && command+=$word; done
    if ! printf '%s' "$command" >&"$redis_connection" || ! redis_reply; then
        exec {redis_connection}>&-
        redis_connection=
        fail unclear "no answer from $redis_host:$redis_port"
        return 2
    fi
    if [[ $reply == -* ]]; then
        fail definite "${reply#-}"
        return 2
    fi
    reply=${reply#[+:$]}
}

redis_connect() {
    { exec {redis_connection}<>"/dev/tcp/$redis_host/$redis_port"; } 2>/dev/null
}

redis_reply() {
    local rest
    IFS= read -r -t "$redis_timeout" -u "$redis_connection" reply || return
    reply=${reply%$'\r'}
    [[ $reply == '$'* ]] || return 0
    if [[ $reply == '$-1' ]]; then
        reply=nil
        return 0
    fi
    # Read the text, and the end of its line.
    read -r -t "$redis_timeout" -u "$redis_connection" -N $((${reply#'$'} + 2)) rest || return
    reply="\$${rest%$'\r\n'}"
}
