#!/bin/sh
# `stark-translate` on a machine with the service; install.sh puts it into /usr/local/bin. It runs as the service's
# user, who may read settings and sessions. What only root may do, root does: systemd, its log, the file of settings.
program=/opt/stark-translate/venv/bin/stark-translate
case $(id -un) in
  root | stark-translate) ;;
  *) exec sudo -H -- "$0" "$@" ;;
esac
# The service's own settings and secrets, which only root may read. As systemd does, nothing in a value is expanded.
names=
if [ -r /etc/stark-translate/environment ]; then
  while IFS= read -r line || [ -n "$line" ]; do
    name=${line%%=*} value=${line#*=}
    case $name in '' | "$line" | [0-9]* | *[!A-Za-z0-9_]*) continue ;; esac
    case $value in
      \"*\") value=${value#?} value=${value%?} ;;
      \'*\') value=${value#?} value=${value%?} ;;
    esac
    export "$name=$value"
    names=$names${names:+,}$name
  done </etc/stark-translate/environment
fi
case ${1-} in
  logs | stop) exec $program "$@" ;;
  setup | tune)
    $program "$@"
    code=$?
    # Root has fetched models and made folders: the service must be able to use them.
    chown -R stark-translate: /var/lib/stark-translate
    exit $code
    ;;
esac
[ "$(id -un)" = root ] || exec $program "$@"
exec sudo -H ${names:+"--preserve-env=$names"} -u stark-translate -- $program "$@"
