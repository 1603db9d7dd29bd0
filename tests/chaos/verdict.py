"""What came of the stacks, told from the tables, the broker and the logs, and whose doing it is."""
import collections
import datetime
import re
import time

import pymysql

import witness

# No wait of a resource takes as long, and nothing that our engine does about what was lost.
SIGN_OF_LIFE = 120
# After the end of the last stack: the time in which the sweep must have tidied everything away.
TIME_TO_TIDY = 90
# Whoever asks the database meanwhile waits for it no longer.
LONGEST_OUTAGE = 120

QUEUES = 'queues of dead engines'
# Found in the end, it is an engine's fault that lives: nothing of it may stay while one of ours does.
LEFT = ('asleep', 'users who did not come to the end', 'locks of dead engines', 'sync points left', 'rows of stacks that are gone',
        'credentials without a stack', 'templates without an owner', QUEUES)
# Somebody's doing, who may have been a Python engine.
DONE = ('made twice', 'leaked', 'robbed', 'not as wanted', 'ended by themselves', 'panics')


def rows(rig, query, *arguments):
    """Over a connection of its own, and again if the database is away."""
    import rig as lab
    end = time.monotonic() + LONGEST_OUTAGE
    while True:
        try:
            with pymysql.connect(**lab.DB, database=rig.name, cursorclass=pymysql.cursors.DictCursor) as connection:
                with connection.cursor() as cursor:
                    cursor.execute(query, arguments)
                    return list(cursor.fetchall())
        except (pymysql.err.OperationalError, pymysql.err.InterfaceError, OSError):
            if time.monotonic() > end:
                raise
            time.sleep(0.5)


class Verdict:
    def __init__(self, rig, lab, stacks, engines):
        self.rig, self.lab, self.stacks, self.engines = rig, lab, stacks, engines
        self.who = {witness.user_of(rig, engine.number): engine for engine in engines}
        self.ours = any(engine.kind == 'rust' for engine in engines)

    def rows(self, query, *arguments):
        return rows(self.rig, query, *arguments)

    # ------------------------------------------------------------------ waiting

    def wait(self, seconds):
        """Until every stack has come to its end; or until those that have not show no sign of life any more. Then until
        it has been tidied up after them. The seconds that the stacks took."""
        began = time.monotonic()
        while time.monotonic() < began + seconds:
            if all(stack.over.is_set() for stack in self.stacks) and not self.moving():
                break
            time.sleep(0.5)
        settled = time.monotonic() - began
        end = time.monotonic() + TIME_TO_TIDY
        while self.ours and time.monotonic() < end and any(found for key, found in self.left().items() if key != QUEUES):
            time.sleep(1)
        return settled

    def let_an_hour_pass(self):
        """Credentials and templates are stored before the stack that they are for; what nobody has after an hour goes. So do
        messages for an engine that is gone."""
        for table in ('user_creds', 'raw_template'):
            self.rows('UPDATE %s SET created_at = created_at - INTERVAL 2 HOUR' % table)
        living = self.living()
        self.rows('UPDATE service SET updated_at = COALESCE(updated_at, created_at) - INTERVAL 2 HOUR WHERE engine_id NOT IN (%s)'
                  % ', '.join(['%s'] * len(living)), *living)
        end = time.monotonic() + TIME_TO_TIDY
        while self.ours and time.monotonic() < end and (any(self.unowned().values()) or self.queues(living)):
            time.sleep(1)

    def in_progress(self):
        """A delete whose end is recorded is not over before the stack is gone."""
        return self.rows("SELECT name, action, status_reason FROM stack WHERE (status = 'IN_PROGRESS' OR (action = 'DELETE' "
                         "AND status = 'COMPLETE')) AND deleted_at IS NULL AND owner_id IS NULL ORDER BY name")

    def moving(self):
        """Stacks in progress of which something was heard not long ago."""
        return self.rows("SELECT s.name FROM stack s WHERE s.status = 'IN_PROGRESS' AND s.deleted_at IS NULL AND s.owner_id IS NULL "
                         'AND GREATEST(COALESCE(s.updated_at, s.created_at), COALESCE((SELECT MAX(e.created_at) FROM event e '
                         'WHERE e.stack_id = s.id), s.created_at)) > UTC_TIMESTAMP() - INTERVAL %s SECOND', SIGN_OF_LIFE)

    # ------------------------------------------------------------------ what is found

    def read(self, about):
        states = collections.Counter()
        for row in self.rows('SELECT action, status, deleted_at FROM stack'):
            states['gone' if row['deleted_at'] else '%(action)s_%(status)s' % row] += 1
        found = dict(about, states=dict(states))
        found['users who did not come to the end'] = [stack.name for stack in self.stacks if not stack.over.is_set()]
        found.update(self.left())
        found.update(self.unowned())
        found['made twice'] = self.made_twice()
        found['leaked'] = self.leaked()
        found['robbed'] = list(self.robbed())
        found['not as wanted'] = [complaint for stack in self.stacks for complaint in self.wrong(stack)]
        found['ended by themselves'] = [{'by': self.name_of(engine, log), 'log': str(log)}
                                        for engine in self.engines for log in engine.ended_by_themselves]
        found['panics'] = list(self.panics())
        found['asked'] = sum(stack.asked for stack in self.stacks)
        found['attempts refused'] = sum(stack.refused for stack in self.stacks)
        found['worker went down'] = self.rows("SELECT COUNT(*) AS n FROM event WHERE resource_status_reason LIKE "
                                              "'Worker went down%%'")[0]['n']
        found['charged'] = {key: dict(collections.Counter(item['by'] for item in found[key])) for key in DONE if found[key]}
        return found

    def complaints(self, found):
        """What must not be. With one of ours alive nothing may stay; what Python alone did wrong is its own affair."""
        left = [key for key in LEFT if found[key]]
        done = ['%s by rust' % key for key in DONE if any(item['by'].startswith('rust') for item in found[key])]
        return left + done if self.ours else left + [key for key in DONE if found[key]]

    def left(self):
        living = self.living()
        found = {'asleep': ['%(name)s in %(action)s' % row for row in self.in_progress()]}
        held = self.rows('SELECT stack_id, name, action, status, engine_id FROM resource WHERE engine_id IS NOT NULL '
                         "UNION ALL SELECT stack_id, 'stack_lock', '', '', engine_id FROM stack_lock")
        found['locks of dead engines'] = [row for row in held if row['engine_id'] not in living]
        found['sync points left'] = self.rows(
            'SELECT COUNT(*) AS n FROM sync_point p LEFT JOIN stack s ON s.id = p.stack_id WHERE s.id IS NULL OR NOT '
            "(s.status = 'IN_PROGRESS' AND s.current_traversal = p.traversal_id AND s.deleted_at IS NULL)")[0]['n']
        found['rows of stacks that are gone'] = self.rows(
            'SELECT s.name AS stack, r.name AS resource, r.action, r.status FROM resource r LEFT JOIN stack s ON s.id = r.stack_id '
            'WHERE s.id IS NULL OR s.deleted_at IS NOT NULL')
        found[QUEUES] = self.queues(living)
        return found

    def unowned(self):
        return {
            'credentials without a stack': self.rows(
                'SELECT COUNT(*) AS n FROM user_creds c WHERE NOT EXISTS (SELECT 1 FROM stack s WHERE s.user_creds_id = c.id)')[0]['n'],
            'templates without an owner': self.rows(
                'SELECT COUNT(*) AS n FROM raw_template t WHERE NOT EXISTS (SELECT 1 FROM stack s WHERE t.id IN '
                '(s.raw_template_id, s.prev_raw_template_id)) AND NOT EXISTS (SELECT 1 FROM resource r WHERE '
                'r.current_template_id = t.id)')[0]['n'],
        }

    def living(self):
        """The ids of the engines that run now: of each node the one that came last."""
        newest = {}
        for row in self.rows('SELECT engine_id, host FROM service ORDER BY created_at, id'):
            newest[row['host']] = row['engine_id']
        return {newest[engine.host] for engine in self.engines if engine.process is not None and engine.host in newest}

    def queues(self, living):
        """Queues that engines of the past left, of those whose id is known: of one that died before it had reported for the
        first time, nobody knows it."""
        past = {row['engine_id'] for row in self.rows('SELECT engine_id FROM service')} - living
        found = []
        for queue in self.lab.management('GET', 'queues/' + self.rig.name):
            topic, _, engine_id = queue['name'].partition('.')
            if topic in ('engine_worker', 'heat-engine-listener') and engine_id in past:
                found.append('%s (%s waiting)' % (queue['name'], queue.get('messages')))
        return found

    # ------------------------------------------------------------------ who did it

    def name_of(self, engine, log):
        return '%s on %s (%s)' % (engine.kind, engine.host, log.name)

    def doer(self, row):
        """Who wrote a row of the trace: kind, node, and the log of that run."""
        engine = self.who.get(row['who'])
        if engine is None:
            return row['who']
        return self.name_of(engine, engine.run_at(row['at'])[1])

    def traced(self, where, *arguments):
        return self.rows('SELECT * FROM chaos_trace WHERE %s ORDER BY id' % where, *arguments)

    def made_twice(self):
        """The same object created twice, or two healthy rows of one name in a stack that is done. Charged to the later."""
        found = []
        twice = self.rows("SELECT s.name AS stack, s.id, e.physical_resource_id AS object, COUNT(*) AS n FROM event e JOIN stack s "
                          "ON s.id = e.stack_id WHERE e.resource_action = 'CREATE' AND e.resource_status = 'COMPLETE' "
                          "AND e.resource_type <> 'OS::Heat::Stack' GROUP BY s.name, s.id, e.physical_resource_id HAVING n > 1")
        for row in twice:
            made = self.traced("what = 'event' AND stack_id = %s AND object = %s AND state = 'CREATE_COMPLETE'", row['id'], row['object'])
            found.append({'stack': row['stack'], 'object': row['object'], 'by': self.doer(made[-1]), 'at': str(made[-1]['at'])})
        double = self.rows("SELECT s.name AS stack, r.name AS resource, MAX(r.id) AS id, COUNT(*) AS n FROM resource r JOIN stack s "
                           "ON s.id = r.stack_id WHERE s.status = 'COMPLETE' AND r.status = 'COMPLETE' AND r.action <> 'DELETE' "
                           'GROUP BY s.name, r.name HAVING n > 1')
        for row in double:
            made = self.traced("what = 'made' AND resource_id = %s", row['id'])
            found.append({'stack': row['stack'], 'resource': row['resource'], 'row': row['id'], 'rows': row['n'],
                          'by': self.doer(made[-1]), 'at': str(made[-1]['at'])})
        return found

    def leaked(self):
        """Objects that were made, whose row is gone, and that nobody deleted. Charged to whoever removed the row."""
        def objects(query):
            return {(row['stack_id'], row['object']) for row in self.rows(query)}
        of_events = ("SELECT DISTINCT stack_id, physical_resource_id AS object FROM event WHERE resource_action = '%s' AND "
                     "resource_status = 'COMPLETE' AND resource_type <> 'OS::Heat::Stack'")
        made = objects(of_events % 'CREATE') | objects(
            "SELECT DISTINCT stack_id, object FROM chaos_trace WHERE what IN ('state', 'removed') AND object IS NOT NULL")
        present = objects('SELECT stack_id, nova_instance AS object FROM resource WHERE nova_instance IS NOT NULL')
        found = []
        # An engine that is killed between the two has written the row, and not the event.
        deleted = objects(of_events % 'DELETE') | objects(
            "SELECT DISTINCT stack_id, object FROM chaos_trace WHERE what = 'state' AND state = 'DELETE_COMPLETE'")
        for stack_id, name in sorted(made - deleted - present):
            about = self.traced('stack_id = %s AND object = %s', stack_id, name)
            removed = [row for row in about if row['what'] == 'removed'] or about
            found.append({'stack_id': stack_id, 'object': name, 'by': self.doer(removed[-1]), 'at': str(removed[-1]['at'])})
        return found

    def robbed(self):
        """Locks that were taken from an engine that lived."""
        runs = {}
        for row in self.rows('SELECT engine_id, host, created_at FROM service'):
            engine = next(engine for engine in self.engines if engine.host == row['host'])
            runs[row['engine_id']] = (engine, engine.run_at(row['created_at'] + datetime.timedelta(seconds=1)))
        for row in self.traced("what = 'state' AND detail NOT LIKE '-%%'"):
            holder, _, rest = row['detail'].partition(' > ')
            if rest.split()[0] == holder or holder not in runs:
                continue
            engine, (_, log, killed) = runs[holder]
            if witness.user_of(self.rig, engine.number) != row['who'] and (killed is None or killed > row['at']):
                yield {'stack_id': row['stack_id'], 'resource': row['name'], 'state': row['state'], 'of': self.name_of(engine, log),
                       'by': self.doer(row), 'at': str(row['at'])}

    def wrong(self, stack):
        """Charged to whoever brought the stack into the state that it is in, or spoiled what somebody else had done."""
        if stack.wanted is None:
            return
        row = self.rows('SELECT action, status, status_reason, deleted_at FROM stack WHERE id = %s', stack.id)[0]
        state = '%(action)s_%(status)s' % row
        last = self.traced("what = 'stack' AND stack_id = %s AND state = %s", stack.id, state)

        def complaint(what):
            return {'stack': stack.name, 'what': what, 'by': self.doer(last[-1]) if last else 'nobody'}
        if stack.wanted != 'gone' and row['action'] != 'UPDATE':
            yield {'stack': stack.name, 'what': 'was not updated: it is %s' % state, 'by': self.last_asked(stack)}
            return
        if stack.wanted == 'gone':
            if not row['deleted_at']:
                yield complaint('is %s, not gone: %s' % (state, row['status_reason']))
            return
        if row['deleted_at'] or row['status'] != 'COMPLETE':
            yield complaint('is %s: %s' % (state, row['status_reason']))
            return
        values = self.rows("SELECT r.name, d.value FROM resource r LEFT JOIN resource_data d ON d.resource_id = r.id AND "
                           "d.`key` = 'value' WHERE r.stack_id = %s AND r.status = 'COMPLETE' AND r.action <> 'DELETE'", stack.id)
        expected = {'r%d' % number: '%d-%d' % (stack.wanted, number) for number in range(stack.options.resources)}
        got = {value['name']: value['value'] for value in values}
        differing = sorted(name for name in got.keys() | expected.keys() if got.get(name) != expected.get(name))
        by_whom = collections.defaultdict(list)
        for name in differing:
            by_whom[self.overwriter(stack, name)].append((name, got.get(name), 'not', expected.get(name)))
        for doer, values in by_whom.items():
            yield complaint(str(values[:6])) | ({'by': doer} if doer else {})

    def overwriter(self, stack, name):
        """Who brought a resource to an end that somebody else had brought there since the stack's last update began; `None`
        if nobody did. (A Python engine that comes late takes the row for what it was told before.)"""
        begun = self.traced("what = 'stack' AND stack_id = %s AND state = 'UPDATE_IN_PROGRESS'", stack.id)
        ends = self.traced("what = 'event' AND stack_id = %s AND name = %s AND state LIKE '%%_COMPLETE'", stack.id, name)
        ends = [row for row in ends if begun and row['id'] > begun[-1]['id']]
        return self.doer(ends[-1]) if len({row['who'] for row in ends}) > 1 else None

    def last_asked(self, stack):
        """Who took the last request to update the stack."""
        asked = re.compile(r'^(\S+ \S+) .*updating stack .*\b%s\b' % stack.name, re.IGNORECASE)
        lines = ((match[1], engine, log) for engine in self.engines for log in engine.logs()
                 for match in map(asked.match, log.read_text(errors='replace').splitlines()) if match)
        last = max(lines, key=lambda found: found[0], default=None)
        return self.name_of(*last[1:]) if last else 'nobody'

    def panics(self):
        for engine in self.engines:
            for log in engine.logs():
                if engine.kind == 'rust' and re.search(r'panicked at|a panic', log.read_text(errors='replace')):
                    yield {'by': self.name_of(engine, log), 'log': str(log)}

    def row_of_the_table(self, found):
        """As docs/reliability.md has it."""
        by_whom = collections.Counter(item['by'].split()[0] for item in found['made twice'])
        doubles = ', '.join('%d by %s' % (count, kind.replace('rust', 'ours')) for kind, count in sorted(by_whom.items()))
        return '| %s | %d | %d, %d | %d of %d | %d | %s | %d |' % (
            found['engines'], found['seed'], found['kill'], found['restart'], len(found['asleep']), found['stacks'],
            found['sync points left'], doubles or '0', found['seconds until settled'])
