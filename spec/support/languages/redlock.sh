# A Redlock by the reference algorithm, over redis-cli: a process for each command. It takes the orders of redlock.py.
# Its clock is /proc/uptime, in steps of 10 ms.
#   sh redlock.sh TTL_MS POLL_MS TIMEOUT_MS PORT...
ttl_ms=$1 poll_ms=$2 timeout_ms=$3
shift 3
ports=$*
quorum=$(($# / 2 + 1))
release="if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) end return 0"

now_ms() {
  read -r up _ </proc/uptime
  echo "${up%.*}${up#*.}0"
}

report() { printf '{"event":"%s","t":%s%s}\n' "$1" "$(now_ms)" "$2"; }

in_s() { awk "BEGIN { print $1 / 1000 }"; }
timeout_s=$(in_s "$timeout_ms")

# What fails is unknown: it does not count, and is undone.
ask() { timeout "$timeout_s" redis-cli -p "$@" </dev/null 2>/dev/null; }

undo() {
  deleted=0
  for port in $ports; do
    [ "$(ask "$port" EVAL "$release" 1 "$name" "$value")" != 1 ] || deleted=$((deleted + 1))
  done
}

attempt() {
  value=$(od -An -N20 -tx1 /dev/urandom | tr -d ' \n') # a new one each time: the undo of an earlier attempt may be late
  votes=0
  until=$(($(now_ms) + ttl_ms - ttl_ms / 100 - 2 - 10))
  for port in $ports; do
    [ "$(ask "$port" SET "$name" "$value" NX PX "$ttl_ms")" != OK ] || votes=$((votes + 1))
  done
  if [ "$votes" -ge "$quorum" ] && [ "$(now_ms)" -lt "$until" ]; then
    report enter ",\"until\":$until,\"value\":\"$value\",\"votes\":$votes"
    return 0
  fi
  undo
  return 1
}

release() {
  report leave
  undo
  report released ",\"masters\":$deleted"
}

while read -r command of hold_ms; do
  name=${of:-$name}
  case $command in
    try) attempt || report refused ;;
    release) release ;;
    turn)
      until attempt; do sleep "$(in_s "$(($(od -An -N2 -tu2 /dev/urandom) % (poll_ms + 1)))")"; done
      sleep "$(in_s "$hold_ms")"
      release
      ;;
  esac
done
