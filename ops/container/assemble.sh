#!/bin/sh
# Lays out /opt/grove of the image: what serves, without npm, Wrangler and the tools that build.
# assemble.sh TARBALL LOCKFILE TARGET: the packed server, the package-lock.json of the repository, and the directory to make.
set -eu
tarball=$(realpath "$1")
lockfile=$(realpath "$2")
target=$3
install=$(mktemp -d)
mkdir -p "$target/node_modules/@cloudflare"
tar -xzf "$tarball" -C "$target" --strip-components=1 --no-same-owner
# The engine in the version and with the hashes of the lockfile. It is a package for each platform; npm takes this one's.
node - "$lockfile" "$target/package.json" "$install" <<'SCRIPT'
const { readFileSync, writeFileSync } = require("node:fs");
const [, , lockfile, manifest, install] = process.argv;
const locked = Object.entries(JSON.parse(readFileSync(lockfile, "utf8")).packages);
const engine = locked.filter(([path]) => /^node_modules\/(@cloudflare\/workerd-[^/]+|workerd)$/.test(path));
const packages = Object.fromEntries(engine.map(([path, { dev, ...entry }]) => [path, entry]));
const { workerd } = JSON.parse(readFileSync(manifest, "utf8")).dependencies;
const project = { name: "engine", version: "1.0.0", dependencies: { workerd } };
const lock = { ...project, lockfileVersion: 3, requires: true, packages: { "": project, ...packages } };
writeFileSync(`${install}/package.json`, JSON.stringify(project));
writeFileSync(`${install}/package-lock.json`, JSON.stringify(lock));
SCRIPT
# Refuses a packed server of another version of the engine. No package runs a script of its own.
npm ci --prefix "$install" --ignore-scripts >/dev/null
cp -R "$install/node_modules/workerd" "$target/node_modules/"
cp -R "$install"/node_modules/@cloudflare/workerd-* "$target/node_modules/@cloudflare/"
rm -rf "$install"
