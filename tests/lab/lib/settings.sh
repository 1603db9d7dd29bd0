# What the lab is made of and where it answers. Sourced by every script here.
#
# A setting comes from the environment, else from what the lab in $LAB_DIR was last started with ($LAB_DIR/lab.env),
# else it has the default below. Everything listens on loopback, and everything that is written lies under $LAB_DIR.
# shellcheck shell=bash disable=SC2034

LAB_SOURCE=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
PROJECT=$(cd "$LAB_SOURCE/../.." && pwd)
export LAB_DIR=${LAB_DIR:-$HOME/.cache/heat-lab}
LAB_RUN=$LAB_DIR/run
LAB_LOGS=$LAB_DIR/logs
LAB_ETC=$LAB_DIR/etc

setting() { # setting NAME DEFAULT
  local name=$1 remembered
  if [ -z "${!name:-}" ]; then
    remembered=$(sed -n "s/^$name=//p" "$LAB_DIR/lab.env" 2>/dev/null || true)
    printf -v "$name" '%s' "${remembered:-$2}"
  fi
  export "${name?}"
}
port_setting() { setting "$1" $(($2 + ${LAB_PORT_OFFSET:-0})); }

LAB_HOST=127.0.0.1
port_setting LAB_DB_PORT 13306
port_setting LAB_AMQP_PORT 15673
port_setting LAB_MANAGEMENT_PORT 15674
port_setting LAB_EPMD_PORT 14369
port_setting LAB_ERLANG_PORT 25673
port_setting LAB_MEMCACHED_PORT 15211
port_setting LAB_KEYSTONE_PORT 15000
port_setting LAB_HEAT_API_PORT 18004
port_setting LAB_HEAT_CFN_PORT 18000

setting LAB_VENV "$LAB_DIR/venv"               # heat, the openstack client, what the tests in Python import
setting LAB_KEYSTONE_VENV "$LAB_DIR/ks-venv"

LAB_DB_ROOT_PASSWORD=labroot
LAB_DB_SOCKET=$LAB_DIR/mariadb/mysql.sock
LAB_AMQP_USER=lab
LAB_AMQP_PASSWORD=lab
LAB_VHOST=heat
LAB_REGION=RegionOne
LAB_ADMIN_PASSWORD="admin"
LAB_DEMO_PASSWORD=demo
LAB_SERVICE_PASSWORD=heatservice
LAB_DOMAIN_ADMIN_PASSWORD=heatdomain
LAB_AUTH_ENCRYPTION_KEY=0123456789abcdef0123456789abcdef

LAB_MANAGEMENT_URL=http://$LAB_HOST:$LAB_MANAGEMENT_PORT
LAB_KEYSTONE_URL=http://$LAB_HOST:$LAB_KEYSTONE_PORT
LAB_HEAT_API_URL=http://$LAB_HOST:$LAB_HEAT_API_PORT
LAB_HEAT_CFN_URL=http://$LAB_HOST:$LAB_HEAT_CFN_PORT
LAB_MEMCACHED=$LAB_HOST:$LAB_MEMCACHED_PORT
LAB_HEAT_CONF=$LAB_ETC/heat/heat.conf
LAB_PYTHON=$LAB_VENV/bin/python

write_lab_env() { # for the tests, and for the next call of these scripts
  local name
  {
    echo '# Where the lab answers; written by tests/lab/up.'
    for name in LAB_DIR LAB_HOST LAB_DB_PORT LAB_DB_ROOT_PASSWORD LAB_AMQP_PORT LAB_AMQP_USER LAB_AMQP_PASSWORD \
      LAB_MANAGEMENT_PORT LAB_MANAGEMENT_URL LAB_EPMD_PORT LAB_ERLANG_PORT LAB_MEMCACHED_PORT LAB_MEMCACHED \
      LAB_KEYSTONE_PORT LAB_KEYSTONE_URL LAB_REGION LAB_ADMIN_PASSWORD LAB_DEMO_PASSWORD LAB_SERVICE_PASSWORD \
      LAB_DOMAIN_ADMIN_PASSWORD LAB_AUTH_ENCRYPTION_KEY LAB_HEAT_API_PORT LAB_HEAT_API_URL LAB_HEAT_CFN_PORT \
      LAB_HEAT_CFN_URL LAB_HEAT_CONF LAB_VENV LAB_KEYSTONE_VENV LAB_PYTHON; do
      echo "$name=${!name}"
    done
  } >"$LAB_DIR/lab.env"
}
