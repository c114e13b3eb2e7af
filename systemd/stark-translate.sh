#!/bin/sh
# `stark-translate` on a machine with the service; install.sh puts it into /usr/local/bin. It runs as the service's
# user, who may read settings and sessions. What only root may do, root does: systemd, its log, the file of settings.
as() {
  user=$1 && shift
  if [ "$(id -un)" = "$user" ]; then "$@"; else sudo -H -u "$user" -- "$@"; fi
}
program=/opt/stark-translate/venv/bin/stark-translate
case ${1-} in
  logs | stop) as root $program "$@" ;;
  setup | tune)
    as root $program "$@"
    code=$?
    # Root has fetched models and made folders: the service must be able to use them.
    as root chown -R stark-translate: /var/lib/stark-translate
    exit $code
    ;;
  *) as stark-translate $program "$@" ;;
esac
