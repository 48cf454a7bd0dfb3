# The steps of a CI run, for `.ci/run` and `.ci/full`: each is timed; one that fails does not keep the next from running.
# shellcheck shell=bash
exec </dev/null

log=$(mktemp -d)
trap 'rm -rf "$log"' EXIT
# the last commit that changed what masters store: fleets of it and of this tree are looked at
earlier=f421120
failed=()
names=() # of all steps, in their order

# log_of NAME: where a step's output is kept; beside it `.seconds`, and `.rc` for one that runs beside others
log_of() { echo "$log/${1// /-}"; }

# limited NAME SECONDS COMMAND…: runs it under a time limit, and keeps how many seconds of a core it took
limited() {
  local out rc=0 TIMEFORMAT='%U %S'
  out=$(log_of "$1")
  { time timeout --kill-after=10 "$2" "${@:3}" 2>&3; } 3>&1 2>"$out.cores" || rc=$?
  return $rc
}

# cores_of NAME: what `limited` kept
cores_of() { awk '{ printf "%d s of a core", $1 + $2 }' "$(log_of "$1").cores"; }

# step NAME SECONDS COMMAND…: runs it under a time limit, keeps its output, says how long it took
step() {
  local name=$1 start=$SECONDS rc=0
  printf '\n=== %s\n' "$name"
  limited "$@" | tee "$(log_of "$name")" || rc=$?
  close "$name" $rc $((SECONDS - start)) "after $((SECONDS - start)) s, $(cores_of "$name")"
}

# begin NAME SECONDS COMMAND…: a step that needs a core, and no quiet: it goes on beside the next ones, and gives way to them,
# and to what was begun before
begin() {
  begun=$((begun + 5))
  beside "$begun" "$@"
}
begun=0 # how nice the last of them is

# queue NAME SECONDS COMMAND…: a step that waits for the most of its time: it goes on beside the next ones, after those that
# were queued before
queue() {
  beside 0 "$@"
  queued=$(log_of "$1")
}
queued= # the last of them

beside() {
  local out before=
  out=$(log_of "$2")
  [ "$1" != 0 ] || before=$queued
  (
    rc=0
    while [ -n "$before" ] && [ ! -f "$before.rc" ]; do sleep 1; done
    limited "$2" "$3" nice -n "$1" "${@:4}" >"$out" || rc=$?
    echo "$rc" >"$out.rc"
  ) &
  echo $! >"$out.pid"
}

# finish NAME: waits for it, and shows what it printed
finish() {
  local name=$1 start=$SECONDS out
  out=$(log_of "$name")
  # bash forgets a child whose number another one has got since: what it wrote stays
  wait "$(cat "$out.pid")" 2>/dev/null || true
  for ((waited = 0; waited < 2400; waited++)); do
    [ ! -f "$out.rc" ] || break
    sleep 1
  done
  [ -f "$out.rc" ] || echo 1 >"$out.rc"
  printf '\n=== %s, begun before\n' "$name"
  cat "$out"
  close "$name" "$(cat "$out.rc")" $((SECONDS - start)) "waited for $((SECONDS - start)) s, $(cores_of "$name")"
}

# close NAME RC SECONDS TEXT
close() {
  names+=("$1")
  echo "$3" >"$(log_of "$1").seconds"
  if [ "$2" = 0 ]; then
    printf '=== %s: done, %s\n' "$1" "$4"
  else
    printf '=== %s: FAILED (exit code %d), %s\n' "$1" "$2" "$4"
    failed+=("$1")
  fi
}

# who reads the end of this log only shall learn what failed: a mocha run tells it under `N failing`, anything else at its end
tell_failures() {
  local name out
  [ ${#failed[@]} -gt 0 ] || return 0
  for name in "${failed[@]}"; do
    out=$(log_of "$name")
    printf '\n=== %s, once more:\n' "$name"
    (awk '/^ +[0-9]+ failing/ { found = 1 } found' "$out" | grep . || tail -n 40 "$out") | head -n 120 || true
  done
  printf '\nsteps that failed:'
  printf ' %s,' "${failed[@]}"
  printf '\n'
}
