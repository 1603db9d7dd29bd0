# What the lab needs from the machine: Debian packages, and two virtual environments with pinned versions.
# shellcheck shell=bash

as_root() { if [ "$(id -u)" = 0 ]; then "$@"; else sudo "$@"; fi; }

install_packages() { # install_packages PACKAGE...
  [ $# -gt 0 ] || return 0
  command -v apt-get >/dev/null || give_up "please install: $*"
  say "installing $*"
  # The packages' own services would start here, on ports and data that are not the lab's: Debian asks this script.
  local policy=/usr/sbin/policy-rc.d ours=
  if [ ! -e $policy ]; then
    ours=1
    printf '#!/bin/sh\nexit 101\n' | as_root tee $policy >/dev/null
    as_root chmod 755 $policy
  fi
  local result=0
  { as_root apt-get update -q &&
    as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends "$@"; } \
    >"$LAB_LOGS/apt.log" 2>&1 || result=$?
  if [ -n "$ours" ]; then as_root rm -f $policy; fi
  [ $result = 0 ] || give_up "apt-get failed; see $LAB_LOGS/apt.log"
}

install_services() {
  local missing=()
  command -v mariadbd >/dev/null || [ -x /usr/sbin/mariadbd ] || missing+=(mariadb-server)
  command -v mariadb >/dev/null || missing+=(mariadb-client)
  [ -x /usr/lib/rabbitmq/bin/rabbitmq-server ] || missing+=(rabbitmq-server)
  command -v memcached >/dev/null || missing+=(memcached)
  command -v curl >/dev/null || missing+=(curl ca-certificates)
  command -v ps >/dev/null || missing+=(procps)
  find_python >/dev/null || missing+=(python3 python3-venv)
  install_packages "${missing[@]}"
}

find_python() { # the first Python >= 3.11 that can make a virtual environment; 3.11 is what the versions were pinned on
  local python
  for python in ${PYTHON:-} python3.11 python3 python3.12 python3.13 python3.14; do
    if "$python" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
      echo "$python"
      return
    fi
  done
  return 1
}

requirements_hash() { sha256sum "$LAB_SOURCE/requirements/$1.txt" | cut -c1-16; }
has_requirements() { # has_requirements VENV NAME: is this environment made from the present list?
  [ "$(cat "$1/.requirements" 2>/dev/null)" = "$(requirements_hash "$2")" ]
}

install_venv() { # install_venv VENV NAME
  local venv=$1 name=$2 python
  has_requirements "$venv" "$name" && return
  say "installing $name into $venv"
  python=$(find_python) || give_up "no Python >= 3.11 with venv was found"
  [ -x "$venv/bin/python" ] || "$python" -m venv "$venv"
  "$venv/bin/pip" install -q --disable-pip-version-check -r "$LAB_SOURCE/requirements/$name.txt" \
    >"$LAB_LOGS/pip-$name.log" 2>&1 || give_up "pip failed; see $LAB_LOGS/pip-$name.log"
  requirements_hash "$name" >"$venv/.requirements"
}

install_rust() { # a compiler and a linker, for the commands that build the engine
  local missing=()
  { command -v cc && command -v make; } >/dev/null || missing+=(build-essential)
  command -v curl >/dev/null || missing+=(curl ca-certificates)
  install_packages "${missing[@]}"
  command -v cargo >/dev/null || PATH=$PATH:$HOME/.cargo/bin
  command -v cargo >/dev/null && return
  say "installing Rust (rustup)"
  curl -fsS --proto '=https' https://sh.rustup.rs | sh -s -- -y -q --profile minimal -c rustfmt -c clippy --no-modify-path \
    >"$LAB_LOGS/rustup.log" 2>&1 || give_up "rustup failed; see $LAB_LOGS/rustup.log"
}
