"""Stacks live while engines, the broker and the database die around them. `run` starts it, in a lab of its own."""
import argparse
import datetime
import json
import os
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
LAB_SCRIPTS = HERE.parent / 'lab'
sys.path[:0] = [str(HERE), str(LAB_SCRIPTS)]

# Engines report, and look for lost work, often enough for a test.
CONFIGURATION = """
[DEFAULT]
periodic_interval = 5
rpc_response_timeout = 20
engine_life_check_timeout = 2
max_stacks_per_tenant = -1
stack_action_timeout = 86400
enable_stack_abandon = false
[heat_engine_rs]
recovery_interval = 5
recovery_patience = 10
"""


def arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--engines', default='rust,rust', help='kinds of the engines that run at the same time: rust, python '
                        '(without its pause of 1 s a leaf), stock')
    parser.add_argument('--seed', type=int, default=1, help='of everything that is drawn; the same seed draws the same')
    parser.add_argument('--stacks', type=int, default=30)
    parser.add_argument('--resources', type=int, default=20, help='of each stack')
    parser.add_argument('--seconds', type=int, default=150, help='how long engines and servers are killed')
    parser.add_argument('--outages', type=int, default=2, help='restarts of the broker and of the database, each')
    parser.add_argument('--patience', type=int, default=300, help='seconds in which every stack must have come to its end after that')
    parser.add_argument('--keep', metavar='DIR', help='logs and tables, which otherwise stay only if something is wrong')
    parser.add_argument('--only-report', action='store_true', help='succeed whatever is found: for a comparison')
    return parser.parse_args()


def utc_now():
    return datetime.datetime.now(datetime.UTC).replace(tzinfo=None)


class Engine:
    """One that is killed and started again. It has a database user of its own, by which its writes can be told."""

    def __init__(self, rig, lab, kind, number, connection):
        self.rig, self.lab, self.kind, self.number = rig, lab, kind, number
        self.host = 'node%d' % number
        self.connection = connection
        self.runs = []                                       # [when it was started, its log, when it was killed]
        self.ended_by_themselves = []                        # logs of runs that nobody killed
        self.process = None
        self.start()

    def start(self):
        log = self.rig.directory / ('engine-%d-%s-%d.log' % (self.number, self.kind, len(self.runs) + 1))
        self.runs.append([utc_now(), log, None])
        environment = {'LIFT_THREAD_CAP': '1', 'PYTHONWARNINGS': 'ignore', 'OS_DEFAULT__HOST': self.host,
                       'OS_DEFAULT__NUM_ENGINE_WORKERS': '1', 'OS_DEFAULT__DEBUG': 'true',
                       'OS_DATABASE__CONNECTION': self.connection}
        self.process = self.lab.Process(self.kind, self.rig.engine_command(self.kind), log, environment)

    def logs(self):
        return [log for _, log, _ in self.runs]

    def run_at(self, moment):
        """The last to be started by then."""
        return [run for run in self.runs if run[0] <= moment][-1]

    def kill(self):
        if self.process is None:
            return
        if not self.process.alive():
            self.note_its_end()
        self.runs[-1][2] = utc_now()
        self.lab.RUNNING.remove(self.process)
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.process.popen.wait()
        self.process = None

    def note_its_end(self):
        print('  the %s engine on %s ended by itself; see %s' % (self.kind, self.host, self.process.log))
        self.ended_by_themselves.append(self.process.log)

    def revive(self):
        """Starts it if it is not there: killed, or ended by what it met."""
        if self.process is not None and self.process.alive():
            return
        self.kill()
        self.start()


def restart(server, hard):
    """As an operator does it, or as a machine that loses power."""
    stop = 'kill -KILL -- -$(pid_of {0}); sleep 1; rm -f "$LAB_RUN/{0}.pid"' if hard else {
        'rabbitmq': 'stop_rabbitmq', 'mariadb': 'stop_process mariadb 60'}[server]
    script = 'set -e; . "%s/lib/all.sh"; %s; sleep 2; start_%s' % (LAB_SCRIPTS, stop.format(server), server)
    done = subprocess.run(['bash', '-c', script], capture_output=True, text=True)
    if done.returncode:
        sys.exit('%s did not come back: %s%s' % (server, done.stdout, done.stderr))


def plan(chance, options, engines):
    """What happens when: [(second, what, arguments)]."""
    events = []
    now = 4.0
    while now < options.seconds:
        events.append((now, 'kill', (chance.randrange(len(engines)), chance.uniform(0.5, 6))))
        now += chance.uniform(4, 14)
    for server in ('rabbitmq', 'mariadb'):
        for number in range(options.outages):
            share = options.seconds / max(options.outages, 1)
            events.append((share * number + chance.uniform(0.2, 0.8) * share, 'restart', (server, number % 2 == 1)))
    return sorted(events, key=lambda event: event[0])


def disturb(chance, options, engines):
    began = time.monotonic()
    revivals = []
    happened = {'kill': 0, 'restart': 0}

    def until(moment):
        while time.monotonic() - began < moment:
            due = [revival for revival in revivals if revival[0] <= time.monotonic() - began]
            for revival in due:
                revivals.remove(revival)
                revival[1].revive()
            time.sleep(0.05)

    for moment, what, details in plan(chance, options, engines):
        until(moment)
        happened[what] += 1
        if what == 'kill':
            number, pause = details
            engines[number].kill()
            revivals.append((time.monotonic() - began + pause, engines[number]))
            print('%4d s: engine %d (%s) killed, for %.1f s' % (moment, number, engines[number].kind, pause))
        else:
            server, hard = details
            print('%4d s: %s restarted%s' % (moment, server, ', killed' if hard else ''))
            restart(server, hard)
    until(options.seconds)
    for engine in engines:
        engine.revive()
    return happened


def main():
    options = arguments()
    import lives                                             # what needs a lab that runs
    import rig as lab
    import verdict
    import witness

    chance = random.Random(options.seed)
    tenant = lab.Tenant('chaos-%d' % os.getpid())
    directory = options.keep or tempfile.mkdtemp(prefix='heat-chaos-')
    rig = lab.Rig('chaos', 'rust', directory, options=CONFIGURATION)
    witness.install(rig)
    rig.start_api()
    engines = [Engine(rig, lab, kind, number, witness.connection_for(rig, number))
               for number, kind in enumerate(options.engines.split(','))]
    lab.wait_until(180, 'the engines', lambda: lives.api_works(rig, tenant), 0.5)

    stacks = [lives.Life(rig, tenant, 'stack%d' % number, random.Random('%d/%d' % (options.seed, number)), options)
              for number in range(options.stacks)]
    for stack in stacks:
        stack.start()
    happened = disturb(chance, options, engines)
    print('peace; waiting for every stack to come to its end')
    judge = verdict.Verdict(rig, lab, stacks, engines)
    settled = judge.wait(options.patience)
    print('%d s of peace' % settled)
    judge.let_an_hour_pass()
    found = judge.read({**happened, 'engines': options.engines, 'seed': options.seed, 'stacks': options.stacks,
                        'resources': options.resources, 'seconds until settled': round(settled)})
    complaints = judge.complaints(found)
    print(json.dumps(found, indent=2, default=str))
    print(judge.row_of_the_table(found))
    if complaints or options.keep:
        keep_the_tables(rig, verdict, directory)
        print('logs and tables: %s' % directory)
    else:
        lab.clean_up()
        shutil.rmtree(directory)
    print('must not be: %s' % ', '.join(complaints) if complaints else 'all is well')
    return 0 if options.only_report or not complaints else 1


def keep_the_tables(rig, verdict, directory):
    """The database goes with the lab; what happened can be read from these."""
    for table in ('stack', 'resource', 'event', 'sync_point', 'service', 'chaos_trace'):
        with open(os.path.join(directory, table + '.jsonl'), 'w') as out:
            for row in verdict.rows(rig, 'SELECT * FROM `%s`' % table):
                print(json.dumps(row, default=str), file=out)


if __name__ == '__main__':
    sys.exit(main())
