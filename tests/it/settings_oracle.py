"""What oslo.config makes of configuration files, for the options of Python's heat-engine.

Takes a file of cases (JSON: a list of {arguments, environment}) and prints, for each, every option's value or error.
"""
import json
import os
import sys
import warnings

cases = json.load(open(sys.argv[1]))
sys.argv = ['heat-engine']
warnings.simplefilter('ignore')

import heat.cmd.engine  # noqa: F401, first: it chooses oslo.service's backend

from keystoneauth1 import loading
from oslo_config import cfg
from oslo_log import log, versionutils
from oslo_messaging import server
from oslo_messaging._drivers import amqp, impl_rabbit
from oslo_messaging.notify import notifier
from oslo_messaging.rpc import client, dispatcher
from oslo_policy import opts as policy_opts
from oslo_reports import opts as report_opts
from oslo_service import _options as service_opts

from heat.common import messaging
from heat.db import api  # noqa: F401, registers options
import heat.engine.resources.aws.lb.loadbalancer  # noqa: F401, registers options
import heat.engine.service  # noqa: F401, registers options

CONF = cfg.CONF
log.register_options(CONF)
versionutils.register_options()
CONF(args=[], project='heat', prog='heat-engine', default_config_files=[], default_config_dirs=[])
messaging.setup('fake://', optional=True)
CONF.register_opts(service_opts.service_opts)
CONF.register_opts(server._pool_opts)
CONF.register_opts(client._client_opts)
CONF.register_opts(dispatcher._dispatcher_opts)
CONF.register_opts(notifier._notifier_opts, group='oslo_messaging_notifications')
CONF.register_opts(impl_rabbit.rabbit_opts, group='oslo_messaging_rabbit')
CONF.register_opts(amqp.amqp_opts, group='oslo_messaging_rabbit')
policy_opts._register(CONF)
report_opts.set_defaults(CONF)
for option in loading.get_auth_common_conf_options() + loading.get_auth_plugin_conf_options('password'):
    option.required = False  # the engine registers them when it first needs them
    CONF.register_opt(option, group='trustee')
CONF.import_opt('www_authenticate_uri', 'keystonemiddleware.auth_token', group='keystone_authtoken')


def options():
    for name in CONF._opts:
        yield None, name
    for group in CONF._groups.values():
        for name in group._opts:
            yield group.name, name


def value_of(group, name):
    try:
        found = CONF._get(name, CONF._get_group(group) if group else None)
    except Exception as error:
        return {'error': '%s: %s' % (type(error).__name__, error)}
    return {'value': found}


def outcome(case):
    os.environ.update(case['environment'])
    try:
        CONF(args=case['arguments'], project='heat', prog='heat-engine', default_config_files=[],
             default_config_dirs=[])
    except (Exception, SystemExit) as error:
        return {'error': '%s: %s' % (type(error).__name__, error)}
    finally:
        values = {'%s/%s' % (group or 'DEFAULT', name): value_of(group, name) for group, name in list(options())}
        for name in case['environment']:
            del os.environ[name]
    return {'values': values}


json.dump([outcome(case) for case in cases], sys.stdout, default=repr)
