# MariaDB: one server, the databases `keystone` and `heat`.
# shellcheck shell=bash

sql() { # sql ARGUMENTS...: the client, as root
  mariadb --no-defaults --host="$LAB_HOST" --port="$LAB_DB_PORT" --user=root --password="$LAB_DB_ROOT_PASSWORD" "$@"
}

start_mariadb() {
  local directory=$LAB_DIR/mariadb server
  server=$(PATH=$PATH:/usr/sbin command -v mariadbd)
  # Temporary tables of its own: a server that starts removes whatever it finds where others may have theirs.
  mkdir -p "$directory/tmp"
  write_mariadb_configuration "$directory/my.cnf"
  if [ ! -d "$directory/data/mysql" ]; then
    say "creating MariaDB's data directory"
    # root with a password, not the socket's peer: the tests come over TCP
    TMPDIR="$directory/tmp" mariadb-install-db --no-defaults --datadir="$directory/data" --user="$(id -un)" \
      --auth-root-authentication-method=normal --skip-test-db >"$LAB_LOGS/mariadb-install.log" 2>&1
  fi
  start_process mariadb "$server" --defaults-file="$directory/my.cnf"
  wait_until 60 MariaDB port_answers "$LAB_DB_PORT"
  if ! sql -e 'SELECT 1' >/dev/null 2>&1; then
    mariadb --no-defaults --user=root --socket="$LAB_DB_SOCKET" <<SQL
CREATE OR REPLACE USER 'root'@'$LAB_HOST' IDENTIFIED BY '$LAB_DB_ROOT_PASSWORD';
GRANT ALL ON *.* TO 'root'@'$LAB_HOST' WITH GRANT OPTION;
SQL
  fi
  local database
  for database in keystone heat; do
    sql -e "CREATE DATABASE IF NOT EXISTS $database CHARACTER SET utf8mb3;
            CREATE USER IF NOT EXISTS '$database'@'$LAB_HOST' IDENTIFIED BY '$database';
            GRANT ALL ON $database.* TO '$database'@'$LAB_HOST';"
  done
}

write_mariadb_configuration() {
  cat >"$1" <<CNF
[mariadbd]
datadir=$LAB_DIR/mariadb/data
tmpdir=$LAB_DIR/mariadb/tmp
socket=$LAB_DB_SOCKET
pid-file=$LAB_DIR/mariadb/mariadbd.pid
log-error=$LAB_LOGS/mariadb.log
port=$LAB_DB_PORT
bind-address=$LAB_HOST
user=$(id -un)
skip-name-resolve
skip-log-bin
max_connections=1000
innodb_buffer_pool_size=512M
innodb_log_file_size=256M
# The log is flushed once a second and not at each commit: a lab's data may be lost, and fsync would be most of the time.
innodb_flush_log_at_trx_commit=2
character-set-server=utf8mb4
max_allowed_packet=64M
# Counts statements by user, so that an engine's can be told from Keystone's.
userstat=1
CNF
}
