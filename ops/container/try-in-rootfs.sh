#!/bin/bash
# Runs the steps of the Containerfile where there is no container engine: in a root file system made from Debian's packages, read-only but
# for /data, as the user of the image. Needs root, mmdebstrap and npm, and `npm run -s pack` before. Ends with 0 when all holds.
set -euo pipefail
cd "$(dirname "$0")/../.."
uid=10001
port=${PORT:-8299}
work=$(mktemp -d)
root=$work/root
data=$work/data
node=$(readlink -f node_modules/.bin/node)
server=""
finish() {
  [ -z "$server" ] || kill -KILL "$server" 2>/dev/null || true
  rm -rf "$work"
}
trap finish EXIT

chmod 755 "$work"
mmdebstrap --quiet --variant=minbase --include=ca-certificates "${SUITE:-bookworm}" "$root"
sh ops/container/assemble.sh dist/packages/*-grove-*.tgz package-lock.json "$root/opt/grove"
install -m 0755 "$node" "$root/usr/local/bin/node"
install -d -m 0700 "$root/data"
install -d -o $uid -g $uid -m 0700 "$data"
for tool in npm wrangler esbuild cc make git; do
  if [ -e "$root/usr/bin/$tool" ] || [ -e "$root/opt/grove/node_modules/$tool" ]; then echo "$tool is inside"; exit 1; fi
done

export GROVE_SEAL_KEY="1:$(head -c 32 /dev/urandom | base64)" GROVE_INIT_TOKEN="$(head -c 16 /dev/urandom | base64)"
entrypoint=$(sed -n 's/^ENTRYPOINT //p' ops/container/Containerfile | node -p 'JSON.parse(require("fs").readFileSync(0, "utf8")).join(" ")' | sed "s/0.0.0.0:8200/127.0.0.1:$port/")
start() {
  unshare --mount bash -c "
    mount --bind '$root' '$root' && mount --bind '$data' '$root/data' && mount -t proc proc '$root/proc'
    mount --bind /dev '$root/dev' && mount -o remount,bind,ro '$root'
    exec chroot --userspec=$uid:$uid '$root' sh -c 'cd /opt/grove && exec $entrypoint'" >>"$work/log" 2>&1 &
  server=$!
  for _ in $(seq 120); do
    curl -sf "http://127.0.0.1:$port/v1/sys/health?uninitcode=200" >/dev/null && return
    sleep 0.5
  done
  cat "$work/log"
  exit 1
}
stop() {
  kill -TERM "$server"
  wait "$server" || { echo "SIGTERM: ended with $?"; exit 1; }
  server=""
}

start
[ "$(awk '/^Uid:/ {print $2}' "/proc/$server/status")" = $uid ] || { echo "does not run as $uid"; exit 1; }
token=$(curl -sf -X PUT -H @<(printf 'X-Vault-Token: %s' "$GROVE_INIT_TOKEN") "http://127.0.0.1:$port/v1/sys/init" | sed 's/.*"root_token":"\([^"]*\)".*/\1/')
stop
start
curl -sf -H "X-Vault-Token: $token" "http://127.0.0.1:$port/v1/auth/token/lookup-self" >/dev/null || { echo "the token is gone after a restart"; exit 1; }
stop
echo "runs as user $uid on a read-only root; ends by SIGTERM; the data outlive it ($(du -sm "$root" | cut -f1) MB)"
