#!/usr/bin/env bash
# Installs stark-translate as a service, or upgrades it; run it again and nothing changes.
set -euo pipefail

usage() {
  cat <<'TEXT'
sudo scripts/install.sh [OPTION...]        install, or upgrade to this checkout
sudo scripts/install.sh --rollback         go back to the version before; once more: forward again
sudo scripts/install.sh --uninstall        remove the program and its units; settings and sessions stay
sudo scripts/install.sh --uninstall --purge   ... and settings, sessions, models and the user as well

  --timers       start and stop it around services (Sunday 09:30 to 13:00) and not at power-on; upgrades keep that
  --no-timers    start it at power-on again
  --no-start     enable it, but do not start it now
  --now          even where somebody has spoken in the last minute
  --python PATH  the Python to use, 3.11 or newer (default: python3)
  --root DIR     install into DIR as if it were /, without touching the running system (for images and tests)
  --help         this text

An upgrade keeps the version before. The new one must accept the settings, or nothing changes; where it
does not start, the old one comes back. Packages that were added to it by pip are taken along.

What goes where: the program in /opt/stark-translate, its command in /usr/local/bin, settings in /etc/stark-translate (never overwritten),
sessions, models and the operator's token in /var/lib/stark-translate, units in /etc/systemd/system.
TEXT
}

fail() {
  printf 'install: %s\n' "$1" >&2
  exit "${2:-1}"
}

root='' python=python3 timers='' start=yes now=no rollback=no uninstall=no purge=no
while (($#)); do
  case $1 in
    --root) root=${2:?--root needs a folder}; root=${root%/}; shift ;;
    --python) python=${2:?--python needs a path}; shift ;;
    --timers) timers=yes ;;
    --no-timers) timers=no ;;
    --no-start) start=no ;;
    --now) now=yes ;;
    --rollback) rollback=yes ;;
    --uninstall) uninstall=yes ;;
    --purge) purge=yes ;;
    --help | -h) usage; exit 0 ;;
    *) usage >&2; fail "unknown option $1" 2 ;;
  esac
  shift
done

source=$(cd "$(dirname "$0")/.." && pwd)
name=stark-translate
opt=$root/opt/$name etc=$root/etc/$name state=$root/var/lib/$name
bin=$root/usr/local/bin/$name units=$root/etc/systemd/system sysusers=$root/usr/lib/sysusers.d
files=("$name.service" "$name-start.timer" "$name-stop.timer" "$name-stop.service")
# Not enabled: whether, when and where to learn is the church's choice (docs/LEARNING.md).
files+=("$name-learn.service" "$name-learn.timer" "$name-train.service" "$name-train.timer" "$name-learn-sync.service")
changed=no

say() {
  changed=yes
  printf '%s\n' "$1"
}

# Whether the command is there for us to write, and not somebody else's.
ours() {
  [[ ! -e $bin ]] || grep -qs "/opt/$name/venv" "$bin"
}

# Systemd of the machine we run on is told nothing about another root.
systemd() {
  [[ -n $root ]] || systemctl "$@"
}

[[ -n $root ]] || ((EUID == 0)) || fail "run it with sudo: it makes a user, and writes to /opt and /etc"
[[ -n $root ]] || command -v systemctl >/dev/null || fail "this machine has no systemd; see docs/OPERATING.md for running it by hand"

if [[ $uninstall == yes ]]; then
  systemd disable --now "${files[@]}" 2>/dev/null || true
  for file in "${files[@]}"; do
    [[ -e $units/$file ]] && rm "$units/$file" && say "removed $units/$file"
  done
  rm -rf "$units/$name.service.d"
  rm -f "$sysusers/$name.conf"
  [[ -e $bin ]] && ours && rm "$bin" && say "removed $bin"
  [[ -e $opt ]] && rm -rf "$opt" "$opt.old" && say "removed $opt"
  systemd daemon-reload
  if [[ $purge == yes ]]; then
    for folder in "$etc" "$state" "$root/var/cache/$name"; do
      [[ -e $folder ]] && rm -rf "$folder" && say "removed $folder"
    done
    [[ -n $root ]] || ! id "$name" >/dev/null 2>&1 || { userdel "$name" && say "removed the user $name"; }
  elif [[ -e $etc || -e $state ]]; then
    printf '%s\n' "Kept: settings in $etc, sessions and models in $state (--uninstall --purge removes them)."
  fi
  [[ $changed == yes ]] || echo "Nothing was installed."
  exit 0
fi

"$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null ||
  fail "$python is not Python 3.11 or newer; name one with --python"
"$python" -c 'import ensurepip' 2>/dev/null || fail "Python's venv is missing: apt install python3-venv"

# write FROM TO [MODE]: a copy, unless it is the same already
write() {
  if ! cmp --silent "$1" "$2"; then
    install -D -m "${3:-644}" "$1" "$2"
    say "wrote $2"
  fi
}

# The church's own settings, as a version reads them.
accepts() {
  [[ ! -e $etc/config.toml ]] || (cd / && "$1/venv/bin/python" -m pipeline config --config "$etc/config.toml" >/dev/null)
}

read -r -d '' directory <<'PYTHON' || true
import sys, tomllib
print(tomllib.load(open(sys.argv[1], "rb")).get("session", {}).get("directory", ""))
PYTHON
sessions=$("$python" -c "$directory" "$etc/config.toml" 2>/dev/null || true)
case $sessions in
  /*) sessions=$root$sessions ;;
  *) sessions=$state/${sessions:-sessions} ;;  # the service works in that folder
esac

# Whether there was a caption in the last minute.
speaking() {
  [[ $now == no && -n $(find "$sessions" -maxdepth 2 -name 'captions*.jsonl' -mmin -1 -print -quit 2>/dev/null) ]]
}

put_units() {
  for file in "${files[@]}"; do
    write "$1/$file" "$units/$file"
  done
}

swap() {
  mv "$opt" "$opt.away"
  mv "$opt.old" "$opt"
  mv "$opt.away" "$opt.old"
  # The version before 0.3 has kept no units.
  [[ ! -d $opt/systemd ]] || put_units "$opt/systemd"
}

speaking && fail "somebody is speaking: wait until a minute has passed without captions, or give --now"
if [[ $rollback == yes ]]; then
  [[ -d $opt.old ]] || fail "no version before is kept in $opt.old"
  accepts "$opt.old" || fail "the version before does not accept $etc/config.toml; nothing has changed"
  swap
  systemd daemon-reload
  systemd try-restart "$name.service" || fail "it is in $opt, but does not start; journalctl -u $name says why"
  echo "The other version is in $opt; this one is kept in $opt.old."
  exit 0
fi

# 1. The user
mkdir -p "$root/etc"
write "$source/systemd/$name.sysusers" "$sysusers/$name.conf"
if ! grep -qs "^$name:" "$root/etc/passwd"; then
  if command -v systemd-sysusers >/dev/null; then
    systemd-sysusers ${root:+--root="$root"} "$sysusers/$name.conf"
  else
    for group in audio video render; do groupadd ${root:+--root "$root"} --system --force "$group"; done
    useradd ${root:+--root "$root"} --system --home-dir "/var/lib/$name" --shell /usr/sbin/nologin --groups audio "$name"
  fi
  say "made the user $name"
fi

# packages FOLDER: hash and name of what is installed there
packages() {
  (cd "$1"/venv/lib/python3*/site-packages && sha256sum -- *.dist-info/RECORD)
}

# Copies what somebody has added to the version in force, or has replaced in it: `[publish]`, a build for a GPU.
take_along() {
  local from to record dist
  from=$(cd "$opt"/venv/lib/python3*/site-packages && pwd)
  to=$(cd "$fresh"/venv/lib/python3*/site-packages && pwd)
  while read -r _ record; do
    dist=${record%.dist-info/RECORD}
    if [[ ${from##*/lib/} != "${to##*/lib/}" || (! -e $to/$record && -n $(compgen -G "$to/${dist%-*}-*.dist-info")) ]]; then
      echo "Not taken along: $dist, which was installed by hand. Install it again for the new version."
    else
      sed 's/,[^,]*,[^,]*$//' "$from/$record" | grep -v '^\.\.' | tar -C "$from" --ignore-failed-read -cf - -T - 2>/dev/null | tar -C "$to" -xf -
      echo "Took $dist along, which was installed by hand."
    fi
  done < <(packages "$opt" | grep -vxFf "$opt/packages" | grep -v ' pip-')
}

# 2. The program: made beside the old one and put in its place at once, so that a failure leaves the old one working
stamp=$(cd "$source" && { cat requirements.lock requirements-build.lock pyproject.toml config.toml languages.toml scripts/{bench/meaning,quality}/sentences*.toml training/data/sermon_test*.tsv
  find pipeline displays dictionary demo languages models verses -type f -not -name '*.pyc' -print0 | LC_ALL=C sort -z | xargs -0 sha256sum; "$python" --version; } | sha256sum | cut -d' ' -f1)
if [[ $(cat "$opt/stamp" 2>/dev/null) != "$stamp" ]]; then
  echo "Installing the program into $opt."
  fresh=$opt.new
  rm -rf "$fresh"
  trap 'rm -rf "$fresh"' EXIT
  mkdir -p "$fresh"
  "$python" -m venv "$fresh/venv"
  # What builds the packages is hashed as they are: pip's isolated builds would take it from the index without.
  "$python" -m venv "$fresh/build"
  pip=("$fresh/build/bin/python" -m pip --quiet --disable-pip-version-check)
  # Where no wheel fits this machine, llama.cpp is compiled.
  # shellcheck source=scripts/llama_build.sh
  source "$source/scripts/llama_build.sh"
  {
    "${pip[@]}" install --no-deps --require-hashes -r "$source/requirements-build.lock" &&
      "${pip[@]}" wheel --no-deps --no-build-isolation --wheel-dir "$fresh/wheels" --require-hashes \
        --find-links "$source/wheels/index.html" -r "$source/requirements.lock"
  } || fail "the packages could not be installed; is there internet?"
  "${pip[@]}" wheel --no-deps --no-build-isolation --wheel-dir "$fresh/wheels" "$source"
  "$fresh/venv/bin/python" -m pip --quiet --disable-pip-version-check install --no-deps --no-index "$fresh"/wheels/*.whl
  rm -r "$fresh/build" "$fresh/wheels"
  cp -r "$source/docs" "$source/systemd" "$fresh"
  packages "$fresh" >"$fresh/packages"
  [[ ! -e $opt/packages ]] || take_along
  install -m 644 "$source/config.toml" "$fresh/config.toml"
  # A virtual environment knows its own path: in its scripts, and nowhere else.
  grep -rlI --null "$fresh/venv" "$fresh/venv/bin" "$fresh/venv/pyvenv.cfg" | xargs -0 -r sed -i "s#$fresh/venv#/opt/$name/venv#g"
  echo "$stamp" >"$fresh/stamp"
  accepts "$fresh" || fail "the new version does not accept $etc/config.toml, see above; nothing has changed"
  if speaking; then
    echo "Somebody is speaking: waiting for a minute without captions."
    while speaking; do sleep 5; done
  fi
  rm -rf "$opt.old"
  [[ ! -e $opt ]] || mv "$opt" "$opt.old"
  mv "$fresh" "$opt"
  trap - EXIT
  say "wrote $opt"
fi

# 3. Settings: made once, then the church's own
if [[ ! -e $etc/config.toml ]]; then
  install -D -m 640 "$source/config.toml" "$etc/config.toml"
  # Whoever runs `check` by hand stands in another folder, and has another home, than the service.
  sed -i "s#^directory = \"sessions\"  #directory = \"/var/lib/$name/sessions\"#; s#^directory = \"\"  #directory = \"/var/lib/$name/models\"#" "$etc/config.toml"
  say "wrote $etc/config.toml: look through it"
elif [[ $changed == yes ]]; then
  echo "Kept $etc/config.toml as it is; what is new is explained in $opt/config.toml."
fi
# It may have the stream's key and the operator's token in it: root and the service read it, nobody else.
if ((EUID == 0)); then
  # By number: in another root the name is not known here.
  chgrp "$([[ -n $root ]] && sed -n "s/^$name:[^:]*:\([0-9]*\):.*/\1/p" "$root/etc/group" || id -g "$name")" "$etc/config.toml"
fi
chmod g+r,o-rwx "$etc/config.toml"
if [[ ! -e $etc/environment ]]; then
  (umask 077 && printf '%s\n' '# Settings of this machine that others must not read, such as' \
    '# STARK_TRANSLATE__OPERATOR__TOKEN=...' '# HF_TOKEN=...' >"$etc/environment")
  say "wrote $etc/environment"
fi

# 4. The command and the units
if ours; then
  write "$source/systemd/$name.sh" "$bin" 755
else
  echo "Left alone: $bin, which is another program's. The service's is $opt/venv/bin/$name."
fi
put_units "$source/systemd"
version=$(systemctl --version 2>/dev/null | sed -n '1s/^systemd \([0-9]*\).*/\1/p')
if ((${version:-0} >= 254)); then
  write "$source/systemd/backoff.conf" "$units/$name.service.d/backoff.conf"
fi
if [[ -z $root ]]; then
  systemctl daemon-reload
  # An upgrade keeps the timers that an earlier one has set.
  [[ -n $timers ]] || ! systemctl is-enabled --quiet "$name-start.timer" 2>/dev/null || timers=yes
  if [[ $timers == yes ]]; then
    begin=try-restart  # it is off between services
    systemctl disable --quiet "$name.service"
    systemctl enable --quiet --now "$name-start.timer" "$name-stop.timer"
  else
    begin=restart
    ! systemctl is-enabled --quiet "$name-start.timer" 2>/dev/null || say "starts at power-on again"
    systemctl disable --quiet --now "$name-start.timer" "$name-stop.timer"
    systemctl enable --quiet "$name.service"
  fi
  if [[ $start == yes && $changed == yes ]] && ! systemctl "$begin" "$name.service"; then
    [[ -d $opt.old ]] || fail "it was installed but does not start; journalctl -u $name says why"
    swap
    systemctl daemon-reload
    systemctl restart "$name.service" || true
    fail "the new version does not start, and the one before is back; journalctl -u $name says why"
  fi
fi

if [[ $changed == no ]]; then
  echo "Nothing has changed."
  exit 0
fi
cat <<TEXT
Installed. Next:
  1. /etc/$name/config.toml: the microphone, the models, and server.host = "0.0.0.0" to let phones in
  2. $name check   (while the service is stopped)
  3. systemctl restart $name; systemctl status $name
TEXT
