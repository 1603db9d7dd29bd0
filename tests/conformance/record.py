"""Runs a scenario on a rig and writes down everything that an outsider could see of it.

A record is a list of (label, value): replies of the API in the order of the requests, rows of every table at the moments
that the scenario chooses and at its end, and at the end the frames and notifications that went over the bus.
"""
import decimal
import json
import queue
import secrets
import threading
import time

import amqp
import requests

import nova
import rig as lab

TABLES = ('stack', 'raw_template', 'raw_template_files', 'resource', 'resource_data', 'resource_properties_data', 'event',
          'sync_point', 'stack_tag', 'user_creds', 'stack_lock', 'snapshot', 'resource_snapshot', 'software_config',
          'software_deployment')
CAPTURE = 'conformance_capture'
STOPPED = 'stopped'
# From the engines to each other. Calls of the API are the same on both sides: one Python makes them.
CAPTURED = ('engine_worker', 'engine_worker.#', 'heat-engine-listener', 'heat-engine-listener.#')


class Stack:
    def __init__(self, name, stack_id):
        self.name = name
        self.id = stack_id

    @property
    def path(self):
        return '/stacks/%s/%s' % (self.name, self.id)


class Bus:
    """Copies of the engines' frames, and the notifications; taken all the time, so that no queue's limit cuts them."""

    def __init__(self, rig):
        self.connection = amqp.Connection(
            host='%s:%s' % (lab.LAB['LAB_HOST'], lab.LAB['LAB_AMQP_PORT']), userid=lab.BROKER_AUTH[0],
            password=lab.BROKER_AUTH[1], virtual_host=rig.name)
        self.connection.connect()
        channel = self.connection.channel()
        channel.queue_declare(CAPTURE, durable=False, auto_delete=False)
        for key in CAPTURED:
            channel.queue_bind(CAPTURE, 'heat', key)
        channel.queue_declare('notifications.info', durable=False, auto_delete=False)
        channel.queue_bind('notifications.info', 'heat', 'notifications.info')
        self.frames = queue.SimpleQueue()
        self.notifications = queue.SimpleQueue()
        channel.basic_consume(CAPTURE, no_ack=True, callback=self._taker(self.frames))
        channel.basic_consume('notifications.info', no_ack=True, callback=self._taker(self.notifications))
        threading.Thread(target=self._consume, daemon=True).start()

    @staticmethod
    def _taker(into):
        def take(message):
            into.put((time.monotonic(), message.delivery_info['routing_key'], message.properties, message.body))
        return take

    def _consume(self):
        try:
            while True:
                self.connection.drain_events()
        except (OSError, amqp.AMQPError):
            pass                                        # the rig's end

    @staticmethod
    def drain(source):
        taken = []
        while not source.empty():
            taken.append(source.get())
        return taken

    def close(self):
        self.connection.close()


class Scenario:
    """What a scenario's function is given: every call here is one line of the record."""

    def __init__(self, rig, bus, tenant):
        self.rig = rig
        self.bus = bus
        self.tenant = tenant
        self.record = []
        self.user = 'member'
        self.http = requests.Session()
        self.http.mount('http://', requests.adapters.HTTPAdapter(pool_maxsize=32))
        self.stacks = []
        self.unique_names = {}
        self.nova = None
        self.tokens = {}

    def note(self, label, value):
        self.record.append(('%02d %s' % (len(self.record) + 1, label), value))

    def unique(self, name):
        """A name for what both rigs make in the one Keystone; of the same length for both, as long texts are cut."""
        tail = secrets.token_hex(4)
        self.unique_names[tail] = '<unique>'
        return '%s-%s' % (name, tail)

    def make(self, kind, name, **attributes):
        """The id of something new in Keystone, whose name is from `unique`: it is removed at the end."""
        made = self.tenant.make(kind, name=name, **attributes)
        self.unique_names[made] = '<id of %s %d>' % (kind, len(self.unique_names))
        return made

    def have_nova(self, zones):
        """A nova for this scenario, in the region of all its requests from now on; in no catalogue yet."""
        self.nova = nova.Nova(self.tenant.admin, self.tenant.url, self.unique('region'), zones)
        self.unique_names[self.nova.url] = '<nova>'
        return self.nova

    def token(self, user):
        """With the catalogue as it is now: heat-api keeps for a while what Keystone has told of a token."""
        if not self.nova:
            return self.tenant.token(user)
        key = (user, self.nova.changes)
        if key not in self.tokens:
            self.tokens[key] = self.tenant.new_token(user)
        return self.tokens[key]

    # ------------------------------------------------------------ requests

    def request(self, method, path, body=None, user=None, quiet=False, label=None):
        region = {'X-Region-Name': self.nova.region} if self.nova else {}
        answer = self.http.request(
            method, '%s/v1/%s%s' % (self.rig.api_url, self.tenant.project_id, path), json=body, timeout=300,
            allow_redirects=False, headers={'X-Auth-Token': self.token(user or self.user), **region})
        try:
            content = answer.json()
        except ValueError:
            content = answer.text
        if not quiet:
            self.note(label or '%s %s' % (method, path), {
                'status': answer.status_code, 'location': answer.headers.get('Location'), 'body': content})
        return answer.status_code, content

    def get(self, path, **options):
        return self.request('GET', path, **options)[1]

    def create(self, name, template, parameters=None, quiet=False, label=None, user=None, **extra):
        body = dict({'stack_name': name, 'template': template, 'parameters': parameters or {}, 'timeout_mins': 60}, **extra)
        status, content = self.request('POST', '/stacks', body, user, quiet, label or 'create ' + name)
        if status != 201:
            return None
        self.stacks.append(Stack(name, content['stack']['id']))
        return self.stacks[-1]

    def take(self, identity):
        """A stack that came about in another way than by `create`."""
        if isinstance(identity, dict) and 'stack_id' in identity:
            self.stacks.append(Stack(identity['stack_name'], identity['stack_id']))

    def update(self, stack, template=None, parameters=None, method='PUT', quiet=False, **extra):
        body = dict({'parameters': parameters or {}}, **extra)
        if template is not None:
            body['template'] = template
        return self.request(method, stack.path, body, quiet=quiet, label='update %s (%s)' % (stack.name, method))

    def delete(self, stack, quiet=False):
        return self.request('DELETE', stack.path, quiet=quiet, label='delete ' + stack.name)

    def action(self, stack, body):
        return self.request('POST', stack.path + '/actions', body, label='action %s on %s' % (body, stack.name))

    # ------------------------------------------------------------ waiting

    def state(self, stack):
        rows = self.rig.rows('SELECT action, status, deleted_at FROM stack WHERE id = %s', stack.id)
        if not rows or rows[0]['deleted_at']:
            return 'gone'
        return '%(action)s_%(status)s' % rows[0]

    def settle(self, *stacks, seconds=180):
        """Until nothing is in progress and nothing is written any more."""
        for stack in stacks or self.stacks:
            lab.wait_until(seconds, 'end of the action on ' + stack.name, lambda: self.has_ended(stack))
        self.until_quiet()

    def has_ended(self, stack):
        """A deleted stack has ended with its last write, which comes a few calls of Keystone after its state."""
        state = self.state(stack)
        return not state.endswith('IN_PROGRESS') and state != 'DELETE_COMPLETE'

    def until_quiet(self, still=0.8):
        """Until nothing has been written for a while, and the engines have had nothing to compute either."""
        end = time.monotonic() + 120
        before, since, ticks = None, time.monotonic(), 0
        while time.monotonic() < end:
            now = self.rig.rows('CHECKSUM TABLE ' + ', '.join('`%s`' % table for table in TABLES))
            used = self.rig.engine_ticks()
            if now != before or used - ticks > 4:
                before, since, ticks = now, time.monotonic(), used
            elif time.monotonic() - since > still:
                return
            time.sleep(0.1)
        raise TimeoutError('the engines do not come to rest')

    def until_resource(self, stack, name, state, seconds=60):
        """Until the newest row of this resource is in this state, such as CREATE_IN_PROGRESS."""
        def reached():
            rows = self.rig.rows('SELECT action, status FROM resource WHERE stack_id = %s AND name = %s ORDER BY id DESC',
                                 stack.id, name)
            return rows and '%(action)s_%(status)s' % rows[0] == state
        lab.wait_until(seconds, '%s %s' % (name, state), reached)

    # ------------------------------------------------------------ looking

    def look(self, stack, rows=True):
        """Everything that the API tells of a stack, and the rows."""
        self.get('/stacks')
        self.get(stack.path)
        self.get(stack.path + '/resources')
        resources = self.get(stack.path + '/resources', quiet=True).get('resources', [])
        for name in sorted(resource['resource_name'] for resource in resources)[:8]:
            self.get('%s/resources/%s' % (stack.path, name))
        self.get(stack.path + '/events')
        for part in ('template', 'environment', 'files'):
            self.get('%s/%s' % (stack.path, part))
        outputs = self.get(stack.path + '/outputs').get('outputs', [])
        for key in sorted(output['output_key'] for output in outputs):
            self.get('%s/outputs/%s' % (stack.path, key))
        if rows:
            self.rows()

    def rows(self, label='rows'):
        self.note(label, Rows({table: [plain(row) for row in self.rig.rows('SELECT * FROM `%s`' % table)]
                               for table in TABLES}))

    def finish(self):
        """The end of the record, taken before the clean-up adds to it."""
        self.rows('rows at the end')
        time.sleep(0.3)
        self.note('frames', Frames([frame(*taken[1:]) for taken in Bus.drain(self.bus.frames)]))
        self.note('notifications', Notifications([frame(*taken[1:]) for taken in Bus.drain(self.bus.notifications)]))

    def clean_up(self):
        """Deletes what is left and empties the tables, so that no scenario sees another one's rows."""
        user, self.user = self.user, 'admin'
        for stack in self.stacks:
            if self.state(stack) != 'gone':
                self.delete(stack, quiet=True)
        for stack in self.stacks:
            lab.wait_until(120, 'deletion of ' + stack.name, lambda: self.state(stack) in ('gone', 'DELETE_FAILED'))
        self.user = user
        if self.nova:
            self.nova.close()
        self.tenant.remove_named(self.unique_names)
        self.until_quiet()
        empty_tables(self.rig)
        Bus.drain(self.bus.frames)
        Bus.drain(self.bus.notifications)


class Rows(dict):
    """table -> rows"""


class Frames(list):
    pass


class Notifications(list):
    pass


def frame(routing_key, properties, body):
    envelope = json.loads(body)
    message = envelope.pop('oslo.message')
    decoded = json.loads(message)
    return {'routing_key': routing_key, 'properties': properties, 'envelope': envelope, 'message': decoded,
            'text as Python writes it': json.dumps(decoded) == message}


def plain(row):
    return {column: int(value) if isinstance(value, decimal.Decimal) else
            value if value is None or isinstance(value, (int, str)) else str(value)
            for column, value in row.items()}


def run(scenario, rig, bus, tenant):
    """The record of a scenario (a function) and its unique words; complete also where it failed: then its last line says how."""
    session = Scenario(rig, bus, tenant)
    try:
        scenario(session)
        session.finish()
    except Exception as failure:       # whatever it was, it belongs into the comparison
        session.note('the scenario ' + STOPPED, '%s: %s' % (type(failure).__name__, failure))
        session.finish()
    try:
        session.clean_up()
    except Exception as failure:
        session.note('the clean-up ' + STOPPED, '%s: %s' % (type(failure).__name__, failure))
        rig.stop_engines()
        empty_tables(rig)
        rig.start_engines()
    return session.record, session.unique_names


def empty_tables(rig):
    rig.rows('SET FOREIGN_KEY_CHECKS = 0')
    for table in TABLES:
        rig.rows('DELETE FROM `%s`' % table)
    rig.rows('SET FOREIGN_KEY_CHECKS = 1')
