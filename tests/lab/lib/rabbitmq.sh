# RabbitMQ: a node of its own (name, cookie, epmd, data), with the management API.
# shellcheck shell=bash

# Debian's /usr/sbin/rabbitmq-server changes to the user rabbitmq and the system's paths; the script below does not.
RABBITMQ_BIN=/usr/lib/rabbitmq/bin

rabbitmq_environment() {
  export HOME=$LAB_DIR/rabbit # the cookie's place
  export RABBITMQ_NODENAME=heatlab$LAB_AMQP_PORT@localhost
  export RABBITMQ_HOME_DIR=$LAB_DIR/rabbit
  export RABBITMQ_MNESIA_BASE=$LAB_DIR/rabbit/mnesia
  export RABBITMQ_LOG_BASE=$LAB_DIR/rabbit/log
  export RABBITMQ_CONFIG_FILE=$LAB_DIR/rabbit/rabbitmq
  export RABBITMQ_ADVANCED_CONFIG_FILE=$LAB_DIR/rabbit/advanced.config
  export RABBITMQ_CONF_ENV_FILE=$LAB_DIR/rabbit/rabbitmq-env.conf
  export RABBITMQ_ENABLED_PLUGINS_FILE=$LAB_DIR/rabbit/enabled_plugins
  export RABBITMQ_PID_FILE=$LAB_DIR/rabbit/beam.pid
  export RABBITMQ_DIST_PORT=$LAB_ERLANG_PORT
  export ERL_EPMD_ADDRESS=$LAB_HOST ERL_EPMD_PORT=$LAB_EPMD_PORT
  # Idle schedulers spin by default, which takes a small machine's cores from all the others.
  export RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS="+sbwt none +sbwtdcpu none +sbwtdio none"
}

management() { # management METHOD PATH [JSON]
  curl -fsS -u "$LAB_AMQP_USER:$LAB_AMQP_PASSWORD" -X "$1" -H 'content-type: application/json' ${3:+-d "$3"} \
    "$LAB_MANAGEMENT_URL/api/$2"
}

start_rabbitmq() {
  mkdir -p "$LAB_DIR"/rabbit/{log,mnesia}
  write_rabbitmq_configuration
  (
    rabbitmq_environment
    start_process rabbitmq $RABBITMQ_BIN/rabbitmq-server
  )
  wait_until 90 RabbitMQ port_answers "$LAB_AMQP_PORT"
  wait_until 90 "RabbitMQ's management" management GET overview
  management PUT "vhosts/$LAB_VHOST" '{}'
  management PUT "permissions/$LAB_VHOST/$LAB_AMQP_USER" '{"configure": ".*", "write": ".*", "read": ".*"}'
  # Nobody consumes the notifications.
  management PUT "policies/$LAB_VHOST/notifications" \
    '{"pattern": "^(versioned_)?notifications\\.", "definition": {"max-length": 5000}, "apply-to": "queues"}'
}

stop_rabbitmq() {
  if alive rabbitmq; then
    (
      rabbitmq_environment
      $RABBITMQ_BIN/rabbitmqctl shutdown >/dev/null 2>&1
    ) || true
  fi
  stop_process rabbitmq 30
  # the name server of this node alone; it outlives the node until it is told
  ERL_EPMD_ADDRESS=$LAB_HOST ERL_EPMD_PORT=$LAB_EPMD_PORT epmd -port "$LAB_EPMD_PORT" -kill >/dev/null 2>&1 || true
}

write_rabbitmq_configuration() {
  cat >"$LAB_DIR/rabbit/rabbitmq.conf" <<CNF
listeners.tcp.1 = $LAB_HOST:$LAB_AMQP_PORT
management.tcp.ip = $LAB_HOST
management.tcp.port = $LAB_MANAGEMENT_PORT
default_user = $LAB_AMQP_USER
default_pass = $LAB_AMQP_PASSWORD
loopback_users = none
disk_free_limit.absolute = 100MB
log.file.level = info
collect_statistics_interval = 1000
CNF
  echo '[rabbitmq_management].' >"$LAB_DIR/rabbit/enabled_plugins"
  # With samples of 5 s, the default, the message counters lag behind by more than a benchmark takes.
  cat >"$LAB_DIR/rabbit/advanced.config" <<CNF
[{rabbitmq_management_agent, [{sample_retention_policies, [
  {global, [{605, 1}, {3660, 60}, {29400, 600}, {86400, 1800}]},
  {basic, [{605, 1}, {3600, 60}]}, {detailed, [{605, 1}]}]}]}].
CNF
  : >"$LAB_DIR/rabbit/rabbitmq-env.conf"
}
