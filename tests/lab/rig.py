"""A Heat of one's own within the lab: a database, a vhost, a heat-api and engines of one kind or of both.

Keystone and the servers are the lab's (tests/lab/up). What a rig makes carries the process id in its name, and whoever
makes the first rig removes what processes that are gone have left behind.
"""
import atexit
import os
import pathlib
import signal
import socket
import subprocess
import sys
import threading
import time

from keystoneauth1 import session
from keystoneauth1.identity import v3
import pymysql
import requests

HERE = pathlib.Path(__file__).resolve().parent
PROJECT = HERE.parent.parent
LAB_DIR = pathlib.Path(os.environ.get('LAB_DIR', '~/.cache/heat-lab')).expanduser()
PREFIX = 'heat_rig_'

# kind -> the engine processes of such a rig
KINDS = {
    'python': ('python',),             # without the pause of 1 s a leaf
    'stock': ('stock',),               # as released
    'rust': ('rust',),
    'mixed': ('python', 'rust'),
}


def read_lab():
    try:
        lines = (LAB_DIR / 'lab.env').read_text().splitlines()
    except OSError:
        sys.exit('no lab runs in %s: run tests/lab/up' % LAB_DIR)
    return dict(line.split('=', 1) for line in lines if not line.startswith('#'))


LAB = read_lab()
DB = {'host': LAB['LAB_HOST'], 'port': int(LAB['LAB_DB_PORT']), 'user': 'root',
      'password': LAB['LAB_DB_ROOT_PASSWORD'], 'charset': 'utf8mb4', 'autocommit': True}
BROKER_AUTH = (LAB['LAB_AMQP_USER'], LAB['LAB_AMQP_PASSWORD'])


def management(method, path, body=None):
    answer = requests.request(method, '%s/api/%s' % (LAB['LAB_MANAGEMENT_URL'], path), auth=BROKER_AUTH, json=body,
                              timeout=30)
    answer.raise_for_status()
    return answer.json() if answer.content else None


def execute(*statements):
    with pymysql.connect(**DB) as connection, connection.cursor() as cursor:
        for statement in statements:
            cursor.execute(statement)
        return cursor.fetchall()


def rust_binary():
    named = os.environ.get('HEAT_ENGINE_RS')
    if named:
        return named
    target = pathlib.Path(os.environ.get('CARGO_TARGET_DIR', PROJECT / 'target'))
    built = [p for p in (target / 'release/heat-engine-rs', target / 'debug/heat-engine-rs') if p.exists()]
    if not built:
        sys.exit('there is no heat-engine-rs: cargo build --release')
    return str(max(built, key=lambda p: p.stat().st_mtime))


def wait_until(seconds, what, condition, interval=0.05):
    end = time.monotonic() + seconds
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > end:
            raise TimeoutError('%s: not within %s s' % (what, seconds))
        time.sleep(interval)


class Process:
    def __init__(self, name, command, log, environment):
        self.name = name
        self.log = log
        with open(log, 'ab') as out:
            self.popen = subprocess.Popen(command, stdout=out, stderr=out, stdin=subprocess.DEVNULL,
                                          start_new_session=True, env=dict(os.environ, **environment))
        RUNNING.append(self)

    @property
    def pid(self):
        return self.popen.pid

    def alive(self):
        return self.popen.poll() is None

    def stop(self, seconds=20):
        if self not in RUNNING:
            return
        RUNNING.remove(self)
        if self.alive():
            self.popen.terminate()
            try:
                self.popen.wait(seconds)
            except subprocess.TimeoutExpired:
                pass
        try:
            os.killpg(self.pid, signal.SIGKILL)          # its session: also the workers of one that is gone
        except ProcessLookupError:
            pass
        self.popen.wait()


RUNNING = []
RIGS = []


def clean_up():
    for process in list(RUNNING):
        process.stop(3)
    for rig in list(RIGS):
        rig.remove()


atexit.register(clean_up)
signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))


def sweep():
    """Removes the databases, users and vhosts of rigs whose process is gone."""
    def orphan(name):
        pid = name.removeprefix(PREFIX).split('_')[0]
        return name.startswith(PREFIX) and not os.path.exists('/proc/' + pid)
    for name, in execute("SHOW DATABASES LIKE '%s%%'" % PREFIX.replace('_', r'\_')):
        if orphan(name):
            execute('DROP DATABASE IF EXISTS %s' % name, "DROP USER IF EXISTS '%s'@'%s'" % (name, DB['host']))
    for vhost in management('GET', 'vhosts?columns=name'):
        if orphan(vhost['name']):
            management('DELETE', 'vhosts/' + vhost['name'])


class Rig:
    def __init__(self, label, kind, directory, options='', workers=1):
        """options: lines for heat.conf, of any groups; workers: of each kind of engine."""
        self.label = label
        self.kind = kind
        self.name = '%s%d_%s' % (PREFIX, os.getpid(), label.replace('-', '_'))
        self.directory = pathlib.Path(directory) / label
        self.directory.mkdir(parents=True, exist_ok=True)
        self.workers = workers
        self.engines = []
        self.api = None
        RIGS.append(self)
        self._make_database()
        self._make_vhost()
        self.transport_url = 'rabbit://%s:%s@%s:%s/%s' % (*BROKER_AUTH, LAB['LAB_HOST'], LAB['LAB_AMQP_PORT'], self.name)
        self.options = options
        self.options_now = ''
        self.conf = self._write_conf(options)

    def _make_database(self):
        execute('CREATE DATABASE %s CHARACTER SET utf8mb3' % self.name,
                "CREATE USER '%s'@'%s' IDENTIFIED BY 'rig'" % (self.name, DB['host']),
                "GRANT ALL ON %s.* TO '%s'@'%s'" % (self.name, self.name, DB['host']))
        with open(PROJECT / 'migrations/heat_schema.sql') as schema:
            subprocess.run(['mariadb', '--no-defaults', '--host=' + DB['host'], '--port=%d' % DB['port'], '--user=root',
                            '--password=' + DB['password'], self.name], stdin=schema, check=True)
        self.connection = pymysql.connect(**DB, database=self.name)
        self.connected = threading.Lock()                       # a connection is for one thread at a time

    def _make_vhost(self):
        management('PUT', 'vhosts/' + self.name, {})
        management('PUT', 'permissions/%s/%s' % (self.name, BROKER_AUTH[0]),
                   {'configure': '.*', 'write': '.*', 'read': '.*'})

    def _write_conf(self, options):
        conf = self.directory / 'heat.conf'
        conf.write_text(
            pathlib.Path(LAB['LAB_HEAT_CONF']).read_text() +
            '\n[DEFAULT]\ntransport_url = %s\nhost = rig\nnum_engine_workers = %d\n' % (self.transport_url, self.workers) +
            '[database]\nconnection = mysql+pymysql://%s:rig@%s:%d/%s\n' % (self.name, DB['host'], DB['port'], self.name) +
            options)
        return conf

    def start(self):
        self.start_api()
        self.start_engines()
        return self

    def start_api(self):
        with socket.socket() as free:
            free.bind((LAB['LAB_HOST'], 0))
            port = free.getsockname()[1]
        self.api_url = 'http://%s:%d' % (LAB['LAB_HOST'], port)
        self.api = Process('heat-api', [
            LAB['LAB_VENV'] + '/bin/gunicorn', '--no-control-socket', '-b', self.api_url.removeprefix('http://'),
            '-w', '1', '-k', 'gthread', '--threads', '24', '--timeout', '600', 'heat_api:application'],
            self.directory / 'heat-api.log',
            {'HEAT_CONF': str(self.conf), 'PYTHONPATH': str(HERE / 'wsgi'), 'PYTHONWARNINGS': 'ignore'})

        def answers():
            try:
                return requests.get(self.api_url + '/', timeout=10)
            except requests.RequestException:
                return None
        wait_until(180, 'heat-api of ' + self.label, answers)

    def engine_command(self, engine):
        options = ['--config-file', str(self.conf)]
        if engine == 'rust':
            return [rust_binary()] + options
        if engine == 'stock':
            return [LAB['LAB_VENV'] + '/bin/heat-engine'] + options
        return [LAB['LAB_PYTHON'], str(HERE / 'heat_engine_nosleep.py')] + options

    def start_engines(self):
        expected = 0
        for engine in KINDS[self.kind]:
            # Python's is one process with that many workers; ours is that many processes.
            for number in range(self.workers if engine == 'rust' else 1):
                self.engines.append(Process(
                    engine, self.engine_command(engine), self.directory / ('engine-%s-%d.log' % (engine, number)),
                    {'LIFT_THREAD_CAP': '1', 'PYTHONWARNINGS': 'ignore'}))
            expected += self.workers

        def consume():
            for engine in self.engines:
                if not engine.alive():
                    raise RuntimeError('the %s engine died; see %s' % (engine.name, engine.log))
            topics = {q['name']: q.get('consumers', 0) for q in management('GET', 'queues/' + self.name)}
            return min(topics.get('engine', 0), topics.get('engine_worker', 0)) >= expected
        wait_until(180, 'engines of ' + self.label, consume, 0.2)

    def have_engines_with(self, options=''):
        """Sees to it that the engines have these options beside the rig's own."""
        if options != self.options_now:
            self.stop_engines(2)                         # a Python engine takes its time, and keeps nothing by it
            self.conf = self._write_conf(self.options + options)
            self.options_now = options
            self.start_engines()

    def stop_engines(self, seconds=20):
        for engine in self.engines:
            engine.stop(seconds)
        self.engines = []

    def engine_processes(self):
        """pid -> ticks of CPU time used so far."""
        sessions = {engine.pid for engine in self.engines}
        return {pid: ticks for pid, (session_id, ticks) in processes().items() if session_id in sessions}

    def engine_ticks(self):
        return sum(self.engine_processes().values())

    def rows(self, query, *arguments):
        with self.connected, self.connection.cursor(pymysql.cursors.DictCursor) as cursor:
            cursor.execute(query, arguments)
            return list(cursor.fetchall())

    def stop(self):
        self.stop_engines()
        if self.api:
            self.api.stop(3)

    def remove(self):
        if self not in RIGS:
            return
        RIGS.remove(self)
        self.stop()
        self.connection.close()
        execute('DROP DATABASE IF EXISTS %s' % self.name, "DROP USER IF EXISTS '%s'@'%s'" % (self.name, DB['host']))
        management('DELETE', 'vhosts/' + self.name)


def processes():
    """pid -> (session, ticks of CPU time), of all that run here."""
    found = {}
    for pid in filter(str.isdigit, os.listdir('/proc')):
        try:
            with open('/proc/%s/stat' % pid) as stat:
                fields = stat.read().rsplit(')', 1)[1].split()
        except OSError:
            continue
        found[int(pid)] = (int(fields[3]), int(fields[11]) + int(fields[12]))
    return found


class Tenant:
    """A Keystone project of one's own, with a member, an admin, one of the users that stacks make for their servers, and
    a stranger, who is a member of another project."""

    def __init__(self, name):
        self.url = LAB['LAB_KEYSTONE_URL'] + '/v3'
        self.name = name
        self.admin = self._session('admin', LAB['LAB_ADMIN_PASSWORD'], 'admin')
        self.project_id = self.make('project', name=name, domain_id='default')
        self.strange_project_id = self.make('project', name=name + '-strange', domain_id='default')
        roles = {r['name']: r['id'] for r in self._get('/roles')['roles']}
        self.user_ids = {}
        self.sessions = {}
        for user, granted in (('member', ('member', 'heat_stack_owner')),
                              ('admin', ('admin', 'member', 'heat_stack_owner')),
                              ('stack_user', ('heat_stack_user',)),
                              ('stranger', ('member', 'heat_stack_owner'))):
            project_id, project = self.project_id, name
            if user == 'stranger':
                project_id, project = self.strange_project_id, name + '-strange'
            user_id = self.make('user', name='%s-%s' % (name, user), password=name, domain_id='default')
            self.user_ids[user] = user_id
            for role in granted:
                self.admin.put('%s/projects/%s/users/%s/roles/%s' % (self.url, project_id, user_id, roles[role]))
            self.sessions[user] = self._session('%s-%s' % (name, user), name, project)
        atexit.register(self.remove)

    def _session(self, user, password, project):
        return session.Session(auth=v3.Password(
            auth_url=self.url, username=user, password=password, project_name=project, user_domain_id='default',
            project_domain_id='default'))

    def make(self, kind, **attributes):
        return self.admin.post('%s/%ss' % (self.url, kind), json={kind: attributes}).json()[kind]['id']

    def _get(self, path):
        return self.admin.get(self.url + path).json()

    def token(self, user='member'):
        return self.sessions[user].get_token()

    def new_token(self, user):
        session = self.sessions[user]
        return session.auth.get_auth_ref(session).auth_token

    def remove_named(self, tails):
        """Projects, users and groups whose name ends so: what stacks made and could not delete, or scenarios made for them."""
        # Projects twice: one that has others below it goes after them.
        for kind in ('users', 'groups', 'projects', 'projects') if tails else ():
            for item in self._get('/' + kind)[kind]:
                if item['name'].rsplit('-', 1)[-1] in tails:
                    self.admin.delete('%s/%s/%s' % (self.url, kind, item['id']), raise_exc=False)

    def remove(self):
        for user_id in self.user_ids.values():
            self.admin.delete('%s/users/%s' % (self.url, user_id), raise_exc=False)
        for project_id in (self.project_id, self.strange_project_id):
            self.admin.delete('%s/projects/%s' % (self.url, project_id), raise_exc=False)
