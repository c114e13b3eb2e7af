#!/bin/sh
# Run a step that takes its time: say what is done, each minute that it still goes on, and how long it took.
#   timed.sh "Installing what the tests need." COMMAND [ARGUMENT ...]
# The exit status is the command's.

said=$1
shift
began=$(date +%s)

took() {
  seconds=$(($(date +%s) - began))
  if [ "$seconds" -lt 60 ]; then echo "$seconds s"; else echo "$((seconds / 60)) min $((seconds % 60)) s"; fi
}

echo "$said"
# What it waits with must not hold the terminal's pipe open when the step is over.
while sleep "${TIMED_EVERY_S:-60}" >/dev/null 2>&1 </dev/null; do echo "  still at it after $(took)"; done &
ticker=$!
trap 'kill "$ticker" 2>/dev/null' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
"$@"
status=$?
if [ "$status" -eq 0 ]; then echo "  done in $(took)"; else echo "  failed after $(took)"; fi
exit "$status"
