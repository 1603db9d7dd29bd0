# memcached and Keystone, with the users that Heat needs and two that use it (demo, alt_demo).
# shellcheck shell=bash

start_memcached() {
  start_process memcached memcached -l "$LAB_HOST" -p "$LAB_MEMCACHED_PORT" -m 128 -U 0 -u "$(id -un)"
  wait_until 30 memcached port_answers "$LAB_MEMCACHED_PORT"
}

start_keystone() {
  local etc=$LAB_ETC/keystone
  mkdir -p "$etc"
  write_keystone_configuration "$etc/keystone.conf"
  if [ ! -e "$etc/.bootstrapped" ]; then bootstrap_keystone "$etc"; fi
  # Workers of one thread each: with threads, requests at the same time were given each other's scope now and then.
  # Without --no-control-socket all instances of gunicorn share one socket in the home directory.
  KEYSTONE_CONF=$etc/keystone.conf PYTHONWARNINGS=ignore PYTHONPATH=$LAB_SOURCE/wsgi \
    start_process keystone "$LAB_KEYSTONE_VENV/bin/gunicorn" --no-control-socket -b "$LAB_HOST:$LAB_KEYSTONE_PORT" \
    -w 3 -k sync --timeout 120 keystone_app:application
  wait_until 90 Keystone url_answers "$LAB_KEYSTONE_URL/v3"
  "$LAB_PYTHON" -W ignore "$LAB_SOURCE/setup_keystone.py" "$LAB_DIR/lab.env"
}

bootstrap_keystone() { # bootstrap_keystone DIRECTORY
  say "Keystone: db_sync and bootstrap"
  local user group manage=(env PYTHONWARNINGS=ignore "$LAB_KEYSTONE_VENV/bin/keystone-manage" --config-file "$1/keystone.conf")
  user=$(id -un) group=$(id -gn)
  "${manage[@]}" db_sync
  "${manage[@]}" fernet_setup --keystone-user "$user" --keystone-group "$group"
  "${manage[@]}" credential_setup --keystone-user "$user" --keystone-group "$group"
  "${manage[@]}" bootstrap --bootstrap-password "$LAB_ADMIN_PASSWORD" --bootstrap-region-id "$LAB_REGION" \
    --bootstrap-admin-url "$LAB_KEYSTONE_URL" --bootstrap-internal-url "$LAB_KEYSTONE_URL" \
    --bootstrap-public-url "$LAB_KEYSTONE_URL"
  touch "$1/.bootstrapped"
}

write_keystone_configuration() {
  cat >"$1" <<CNF
[DEFAULT]
log_file = $LAB_LOGS/keystone.log
public_endpoint = $LAB_KEYSTONE_URL/
[database]
connection = mysql+pymysql://keystone:keystone@$LAB_HOST:$LAB_DB_PORT/keystone
max_pool_size = 10
[cache]
enabled = true
backend = dogpile.cache.pymemcache
memcache_servers = $LAB_MEMCACHED
[token]
provider = fernet
expiration = 86400
[fernet_tokens]
key_repository = $LAB_ETC/keystone/fernet-keys
[credential]
key_repository = $LAB_ETC/keystone/credential-keys
[identity]
# Cheap hashes: password logins must not be what a benchmark measures.
password_hash_rounds = 4
CNF
}
