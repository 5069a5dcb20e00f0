#!/bin/sh
# Lays out /opt/grove of the image: what serves, without npm, Wrangler and the tools that build.
# assemble.sh TARBALL TARGET: the packed server, and the directory to make.
set -eu
tarball=$(realpath "$1")
target=$2
install=$(mktemp -d)
# Optional packages stay: workerd is one for each platform. No package runs a script of its own.
npm install --prefix "$install" --omit=dev --ignore-scripts --no-save --no-package-lock "$tarball" >/dev/null
mkdir -p "$target/node_modules/@cloudflare"
cp -R "$install"/node_modules/@*/grove/. "$target"
cp -R "$install/node_modules/workerd" "$target/node_modules/"
cp -R "$install"/node_modules/@cloudflare/workerd-* "$target/node_modules/@cloudflare/"
rm -rf "$install"
