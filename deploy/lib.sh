# Shell functions that deploy/run and tests/run share. Sourced, with OPYARD_ROOT set by the caller.
# shellcheck shell=bash

OPYARD_BUILD="$OPYARD_ROOT/build"
OPYARD_VENV="$OPYARD_BUILD/venv"
OPYARD_LOGS="$OPYARD_BUILD/logs"
OPYARD_PYTHON=/usr/bin/python3
OPYARD_DAEMON_PID=""
OPYARD_RUN_DIR=""

note() { printf '== %s\n' "$*"; }

fail() {
  printf 'error: %s\n' "$*" >&2
  exit 1
}

# run_logged LOG COMMAND...: runs quietly; on failure shows the end of the log and returns the command's status.
run_logged() {
  local log="$1" status=0
  shift
  "$@" >"$log" 2>&1 || status=$?
  if [ "$status" -ne 0 ]; then
    tail -n 40 "$log" >&2
    printf 'error: failed with status %s: %s\n       the whole output is in %s\n' "$status" "$*" "$log" >&2
  fi
  return "$status"
}

as_root() {
  if [ "$(id -u)" -eq 0 ]; then
    "$@"
  elif command -v sudo >/dev/null; then
    sudo -- "$@"
  else
    fail "packages are missing and this needs root: $* (no sudo here; run it as root, then try again)"
  fi
}

# One set-up at a time: a second one waits instead of building into the same folder.
take_lock() {
  mkdir -p "$OPYARD_LOGS"
  exec 9>"$OPYARD_BUILD/.lock"
  if ! flock -n 9; then
    note "another run is building in $OPYARD_BUILD, waiting for it"
    flock 9
  fi
}

# install_packages LIST...: what the lists name, one package a line, and is not there.
install_packages() {
  local wanted missing=() package status
  command -v dpkg-query >/dev/null ||
    fail "this is not a Debian system: install the counterparts of deploy/packages.txt and set OPYARD_SKIP_PACKAGES=1"
  wanted="$(cd "$OPYARD_ROOT" && sed -e 's/#.*//' "$@")"
  for package in $wanted; do
    status="$(dpkg-query -W -f '${Status}' "$package" 2>/dev/null || true)"
    [ "$status" = "install ok installed" ] || missing+=("$package")
  done
  if [ "${#missing[@]}" -eq 0 ]; then
    note "Debian packages: all there"
    return
  fi
  note "Debian packages: installing ${#missing[@]}: ${missing[*]}"
  run_logged "$OPYARD_LOGS/apt-update.log" as_root env DEBIAN_FRONTEND=noninteractive \
    apt-get update || fail "apt-get update failed: is there a network, and are the sources right?"
  run_logged "$OPYARD_LOGS/apt-install.log" as_root env DEBIAN_FRONTEND=noninteractive \
    apt-get install -y --no-install-recommends "${missing[@]}" ||
    fail "apt-get install failed"
}

# What the virtual environment was made from; a change makes it anew.
venv_key() {
  {
    "$OPYARD_PYTHON" --version
    cat "$OPYARD_ROOT/deploy/requirements.txt"
    cat "$OPYARD_ROOT/client/python/pyproject.toml" 2>/dev/null || true
    printf '%s\n' "$OPYARD_ROOT"
  } | sha256sum | cut -d ' ' -f 1
}

make_venv() {
  local key stamp="$OPYARD_VENV/.opyard-stamp"
  key="$(venv_key)"
  if [ -f "$stamp" ] && [ "$(cat "$stamp")" = "$key" ]; then
    note "Python environment: up to date"
    return
  fi
  note "Python environment: making build/venv"
  rm -rf "$OPYARD_VENV"
  run_logged "$OPYARD_LOGS/venv.log" "$OPYARD_PYTHON" -m venv "$OPYARD_VENV" || return 1
  run_logged "$OPYARD_LOGS/pip.log" "$OPYARD_VENV/bin/python" -m pip install --disable-pip-version-check \
    -r "$OPYARD_ROOT/deploy/requirements.txt" || return 1
  if [ -f "$OPYARD_ROOT/client/python/pyproject.toml" ]; then
    run_logged "$OPYARD_LOGS/pip-client.log" "$OPYARD_VENV/bin/python" -m pip install \
      --disable-pip-version-check -e "$OPYARD_ROOT/client/python" || return 1
  fi
  printf '%s\n' "$key" >"$stamp"
}

# Compilers of gRPC code take about 1.5 GB each: fewer jobs than cores where memory is short.
build_jobs() {
  local cores memory_kb by_memory
  cores="$(nproc)"
  memory_kb="$(awk '/^MemAvailable:/ {print $2}' /proc/meminfo)"
  by_memory=$((memory_kb / 1500000))
  [ "$by_memory" -ge 1 ] || by_memory=1
  if [ "$by_memory" -lt "$cores" ]; then printf '%s' "$by_memory"; else printf '%s' "$cores"; fi
}

# show_progress LOG: copies ninja's output to LOG and shows one line per tenth of the way.
show_progress() {
  awk -v log_file="$1" '
    { print > log_file }
    match($0, /^\[[0-9]+\/[0-9]+\]/) {
      split(substr($0, 2, RLENGTH - 2), part, "/")
      tenth = int(10 * part[1] / part[2])
      if (tenth > shown) { shown = tenth; printf "   built %d of %d\n", part[1], part[2]; fflush() }
    }'
}

# build_preset PRESET TARGET...: configures and builds; without targets, everything.
build_preset() {
  local preset="$1" started=$SECONDS log
  shift
  log="$OPYARD_LOGS/build-$preset.log"
  note "build ($preset): configuring"
  (cd "$OPYARD_ROOT" && run_logged "$OPYARD_LOGS/configure-$preset.log" cmake --preset "$preset") || return 1
  note "build ($preset): compiling with $(build_jobs) jobs"
  if ! NINJA_STATUS='[%f/%t] ' ninja -C "$OPYARD_BUILD/$preset" -j "$(build_jobs)" "$@" 2>&1 |
    show_progress "$log"; then
    grep -A 20 -E '^FAILED|error:|^ninja: error' "$log" | head -n 60 >&2
    printf 'error: the build failed; the whole output is in %s\n' "$log" >&2
    return 1
  fi
  note "build ($preset): done in $((SECONDS - started)) s"
}

# A short private folder for sockets: a socket's path has at most 107 bytes, and ".admin" is put behind it.
make_run_dir() {
  local base="${TMPDIR:-/tmp}"
  [ "${#base}" -le 60 ] || base=/tmp
  OPYARD_RUN_DIR="$(mktemp -d "$base/opyard-XXXXXX")"
}

# start_daemon PRESET NAME: opyardd on a socket of its own; sets OPYARD_ADDRESS and waits until it answers.
start_daemon() {
  local bin="$OPYARD_BUILD/$1/bin" log="$OPYARD_LOGS/opyardd-$2.log" tries=0
  [ -n "$OPYARD_RUN_DIR" ] || make_run_dir
  OPYARD_ADDRESS="unix:$OPYARD_RUN_DIR/$2.sock"
  export OPYARD_ADDRESS
  "$bin/opyardd" --listen "$OPYARD_ADDRESS" --plugin-dir "$OPYARD_BUILD/$1/lib/opyard/plugins" \
    >"$log" 2>&1 9>&- &
  OPYARD_DAEMON_PID=$!
  until "$bin/opyard" ping >/dev/null 2>&1 9>&-; do
    tries=$((tries + 1))
    if ! kill -0 "$OPYARD_DAEMON_PID" 2>/dev/null || [ "$tries" -ge 150 ]; then
      tail -n 20 "$log" >&2
      printf 'error: opyardd does not answer at %s; its log is %s\n' "$OPYARD_ADDRESS" "$log" >&2
      return 1
    fi
    sleep 0.1
  done
}

# stop_daemon: SIGTERM, then opyardd must drain and exit with status 0 within 20 s.
stop_daemon() {
  local pid="$OPYARD_DAEMON_PID" status=0 tries=0
  [ -n "$pid" ] || return 0
  OPYARD_DAEMON_PID=""
  kill -TERM "$pid" 2>/dev/null || true
  while kill -0 "$pid" 2>/dev/null && [ "$tries" -lt 200 ]; do
    tries=$((tries + 1))
    sleep 0.1
  done
  if kill -0 "$pid" 2>/dev/null; then
    kill -KILL "$pid"
    printf 'error: opyardd did not stop within 20 s of SIGTERM\n' >&2
    status=1
  fi
  wait "$pid" || status=$?
  if [ "$status" -ne 0 ]; then
    printf 'error: opyardd ended with status %s after SIGTERM, not 0\n' "$status" >&2
  fi
  return "$status"
}

# For the exit trap: leaves no daemon and no folder behind.
clean_up() {
  if [ -n "$OPYARD_DAEMON_PID" ]; then
    stop_daemon || true
  fi
  if [ -n "$OPYARD_RUN_DIR" ]; then
    rm -rf "$OPYARD_RUN_DIR"
  fi
}

# set_up PRESET [TARGET...]: packages, Python environment, build.
set_up() {
  [ -n "${OPYARD_SKIP_PACKAGES:-}" ] || install_packages deploy/packages.txt
  make_venv || fail "the Python environment could not be made"
  build_preset "$@"
}
