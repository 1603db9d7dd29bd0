# Processes in the background: one pid file and one log file each, ended only by that pid.
# shellcheck shell=bash

say() { echo "[lab $(date +%H:%M:%S)] $*"; }
give_up() { say "$*" >&2; exit 1; }

pid_of() { cat "$LAB_RUN/$1.pid" 2>/dev/null; }

# A pid may have been given to somebody else since: the process must also lead a session, as all of ours do.
alive() { # alive NAME
  local pid
  pid=$(pid_of "$1") && [ -n "$pid" ] && kill -0 "$pid" 2>/dev/null && [ "$(ps -o sess= -p "$pid" | tr -d ' ')" = "$pid" ]
}

start_process() { # start_process NAME COMMAND...
  local name=$1
  shift
  if alive "$name"; then
    say "$name already runs (pid $(pid_of "$name"))"
    return
  fi
  setsid "$@" >>"$LAB_LOGS/$name.out" 2>&1 </dev/null &
  echo $! >"$LAB_RUN/$name.pid"
  disown
  say "$name started (pid $(pid_of "$name"))"
}

stop_process() { # stop_process NAME [SECONDS]: TERM, and KILL for what is left of its session
  local name=$1 patience=${2:-20} pid
  if ! alive "$name"; then
    rm -f "$LAB_RUN/$name.pid"
    return 0
  fi
  pid=$(pid_of "$name")
  kill -TERM "$pid"
  for _ in $(seq $((patience * 5))); do
    kill -0 "$pid" 2>/dev/null || break
    sleep .2
  done
  if kill -0 "$pid" 2>/dev/null; then say "$name is still there after ${patience} s: KILL"; fi
  kill -KILL -- "-$pid" 2>/dev/null || true
  rm -f "$LAB_RUN/$name.pid"
  say "$name stopped"
}

wait_until() { # wait_until SECONDS WHAT COMMAND...: until the command succeeds
  local end=$((SECONDS + $1)) what=$2
  shift 2
  until "$@" >/dev/null 2>&1; do
    [ $SECONDS -lt $end ] || give_up "$what does not answer; see $LAB_LOGS"
    sleep .2
  done
}
port_answers() { (exec 3<>"/dev/tcp/$LAB_HOST/$1") 2>/dev/null; }
url_answers() { curl -s -o /dev/null --max-time 10 "$1"; }
