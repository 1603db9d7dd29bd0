"""What an operation costs: counters of the engine's processes, of its database user and of its vhost, before and after."""
import os
import time

import rig as lab

TICKS = os.sysconf('SC_CLK_TCK')
# The broker's counters are sampled once a second, and shown a little later.
COUNTERS_LAG = 2.6


class Meter:
    def __init__(self, rig):
        self.rig = rig
        for pid in rig.engine_processes():
            with open('/proc/%d/clear_refs' % pid, 'w') as clear:
                clear.write('5')                                # peak memory counts from here
        self.before = counters(rig)
        self.ticks = rig.engine_ticks()
        self.busy = busy_ticks()
        self.ours = lab_ticks(rig)
        self.started = time.monotonic()

    def ended(self):
        """To be called when the operation has ended: the wall clock stops, and so does the look at other processes."""
        self.wall = time.monotonic() - self.started
        others = busy_ticks() - self.busy - (lab_ticks(self.rig) - self.ours)
        self.foreign = max(0, others) / TICKS / self.wall

    def read(self):
        time.sleep(COUNTERS_LAG)
        after = counters(self.rig)
        return {'wall': self.wall, 'cpu': (self.rig.engine_ticks() - self.ticks) / TICKS, 'foreign': self.foreign,
                **{name: after[name] - self.before[name] for name in after}, **memory(self.rig)}


def counters(rig):
    """Statements of all kinds (BEGIN, COMMIT, ROLLBACK and SET among them), the bytes that went to and from the database,
    and messages published. heat-api has no connection to the database."""
    counted = rig.rows('SELECT select_commands + update_commands + other_commands AS statements,'
                       ' bytes_received + bytes_sent AS bytes FROM information_schema.user_statistics WHERE user = %s',
                       rig.name)
    published = lab.management('GET', 'vhosts/' + rig.name).get('message_stats', {}).get('publish', 0)
    found = counted[0] if counted else {'statements': 0, 'bytes': 0}
    return {'statements': int(found['statements']), 'kib': int(found['bytes']) / 1024, 'messages': published}


def memory(rig):
    """MiB: shared pages by halves (PSS) now, and the peaks of resident memory since the start of the meter."""
    pss = peak = 0
    for pid in rig.engine_processes():
        pss += field('/proc/%d/smaps_rollup' % pid, 'Pss:')
        peak += field('/proc/%d/status' % pid, 'VmHWM:')
    return {'pss': pss / 1024, 'peak': peak / 1024}


def field(path, name):
    with open(path) as lines:
        return next(int(line.split()[1]) for line in lines if line.startswith(name))


def busy_ticks():
    with open('/proc/stat') as stat:
        fields = [int(field) for field in stat.readline().split()[1:9]]
    return sum(fields) - fields[3] - fields[4]                  # all but idle and waiting for disks


def lab_ticks(rig):
    """Of all that takes part: the rig, the lab's services, and this program."""
    sessions = {engine.pid for engine in rig.engines} | {rig.api.pid, os.getsid(0)}
    for pid_file in (lab.LAB_DIR / 'run').glob('*.pid'):
        sessions.add(int(pid_file.read_text()))
    return sum(ticks for session, ticks in lab.processes().values() if session in sessions)
