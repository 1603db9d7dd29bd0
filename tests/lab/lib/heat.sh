# heat.conf, the database's schema, heat-api and heat-api-cfn. The engines are in `engine`.
# shellcheck shell=bash

configure_heat() {
  mkdir -p "$LAB_ETC/heat"
  cp -r "$LAB_VENV/etc/heat/." "$LAB_ETC/heat/"
  write_heat_configuration "$LAB_HEAT_CONF"
}

start_heat_apis() {
  say "Heat: db_sync"
  "$LAB_VENV/bin/heat-manage" --config-file "$LAB_HEAT_CONF" db_sync >>"$LAB_LOGS/heat-manage.log" 2>&1
  start_heat_wsgi heat-api heat_api "$LAB_HEAT_API_PORT" 2
  start_heat_wsgi heat-api-cfn heat_api_cfn "$LAB_HEAT_CFN_PORT" 1
  wait_until 90 heat-api url_answers "$LAB_HEAT_API_URL/"
  wait_until 90 heat-api-cfn url_answers "$LAB_HEAT_CFN_URL/"
}

start_heat_wsgi() { # start_heat_wsgi NAME MODULE PORT WORKERS
  HEAT_CONF=$LAB_HEAT_CONF PYTHONWARNINGS=ignore PYTHONPATH=$LAB_SOURCE/wsgi \
    start_process "$1" "$LAB_VENV/bin/gunicorn" --no-control-socket -b "$LAB_HOST:$3" -w "$4" -k gthread --threads 8 \
    --timeout 600 --keep-alive 65 "$2:application"
}

write_heat_configuration() {
  cat >"$1" <<CNF
[DEFAULT]
debug = ${LAB_DEBUG:-false}
host = heatlab
transport_url = rabbit://$LAB_AMQP_USER:$LAB_AMQP_PASSWORD@$LAB_HOST:$LAB_AMQP_PORT/$LAB_VHOST
auth_encryption_key = $LAB_AUTH_ENCRYPTION_KEY
heat_metadata_server_url = $LAB_HEAT_CFN_URL
heat_waitcondition_server_url = $LAB_HEAT_CFN_URL/v1/waitcondition
stack_user_domain_name = heat
stack_domain_admin = heat_domain_admin
stack_domain_admin_password = $LAB_DOMAIN_ADMIN_PASSWORD
region_name_for_services = $LAB_REGION
environment_dir = $LAB_ETC/heat/environment.d
template_dir = $LAB_ETC/heat/templates
plugin_dirs =
max_resources_per_stack = -1
max_stacks_per_tenant = -1
enable_stack_abandon = true
enable_stack_adopt = true
hidden_stack_tags = hide_me

[database]
connection = mysql+pymysql://heat:heat@$LAB_HOST:$LAB_DB_PORT/heat

[keystone_authtoken]
www_authenticate_uri = $LAB_KEYSTONE_URL
auth_url = $LAB_KEYSTONE_URL
auth_type = password
username = heat
password = $LAB_SERVICE_PASSWORD
project_name = service
user_domain_id = default
project_domain_id = default
memcached_servers = $LAB_MEMCACHED
service_token_roles_required = true
service_token_roles = service

[trustee]
auth_type = password
auth_url = $LAB_KEYSTONE_URL
username = heat
password = $LAB_SERVICE_PASSWORD
user_domain_id = default

[clients_keystone]
auth_uri = $LAB_KEYSTONE_URL

# A keystoneauth section; it appends /v3/ec2tokens to the catalogue's identity URL, which therefore has no version.
[ec2authtoken]
auth_type = password
auth_url = $LAB_KEYSTONE_URL
username = heat
password = $LAB_SERVICE_PASSWORD
project_name = service
user_domain_id = default
project_domain_id = default

[paste_deploy]
api_paste_config = $LAB_ETC/heat/api-paste.ini

[oslo_messaging_notifications]
driver = messagingv2
CNF
  # An experiment's own options, kept over restarts.
  if [ -e "$LAB_ETC/heat/extra.conf" ]; then cat "$LAB_ETC/heat/extra.conf" >>"$1"; fi
}
