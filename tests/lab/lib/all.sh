# shellcheck shell=bash
_here=$(dirname "${BASH_SOURCE[0]}")
for _part in settings process install mariadb rabbitmq keystone heat; do
  # shellcheck disable=SC1090
  . "$_here/$_part.sh"
done
mkdir -p "$LAB_RUN" "$LAB_LOGS" "$LAB_ETC"
