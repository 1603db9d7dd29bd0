"""What came of the stacks, told from the tables and the broker."""
import time

import pymysql

# No wait of a resource takes as long, and nothing that our engine does about what was lost.
SIGN_OF_LIFE = 120


def rows(rig, query, *arguments):
    """Over a connection of its own, and again if the database is away."""
    import rig as lab
    while True:
        try:
            with pymysql.connect(**lab.DB, database=rig.name, cursorclass=pymysql.cursors.DictCursor) as connection:
                with connection.cursor() as cursor:
                    cursor.execute(query, arguments)
                    return list(cursor.fetchall())
        except (pymysql.err.OperationalError, pymysql.err.InterfaceError, OSError):
            time.sleep(0.5)


class Verdict:
    def __init__(self, rig, lab, stacks):
        self.rig, self.lab, self.stacks = rig, lab, stacks

    def rows(self, query, *arguments):
        return rows(self.rig, query, *arguments)

    def in_progress(self):
        return self.rows("SELECT name, action, status_reason FROM stack WHERE status = 'IN_PROGRESS' AND deleted_at IS NULL "
                         'AND owner_id IS NULL ORDER BY name')

    def wait(self, seconds):
        """Until every stack has come to its end; or until those that have not show no sign of life any more."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if all(stack.over.is_set() for stack in self.stacks) and not self.moving():
                break
            time.sleep(1)
        time.sleep(12)                                       # the sweep that tidies up after the last of them

    def moving(self):
        """Stacks in progress of which something was heard not long ago."""
        return self.rows("SELECT s.name FROM stack s WHERE s.status = 'IN_PROGRESS' AND s.deleted_at IS NULL AND s.owner_id IS NULL "
                         'AND GREATEST(COALESCE(s.updated_at, s.created_at), COALESCE((SELECT MAX(e.created_at) FROM event e '
                         'WHERE e.stack_id = s.id), s.created_at)) > UTC_TIMESTAMP() - INTERVAL %s SECOND', SIGN_OF_LIFE)

    def read(self, about):
        living = {row['engine_id'] for row in self.rows('SELECT engine_id FROM service WHERE deleted_at IS NULL AND '
                                                        'updated_at > UTC_TIMESTAMP() - INTERVAL 12 SECOND')}
        held = self.rows('SELECT stack_id, name, action, status, engine_id FROM resource WHERE engine_id IS NOT NULL')
        states = {}
        for row in self.rows('SELECT action, status, deleted_at FROM stack'):
            state = 'gone' if row['deleted_at'] else '%(action)s_%(status)s' % row
            states[state] = states.get(state, 0) + 1
        found = dict(about, states=states)
        found['asleep'] = ['%(name)s in %(action)s' % row for row in self.in_progress()]
        found['locks of dead engines'] = [row for row in held if row['engine_id'] not in living]
        found['sync points left'] = self.rows(
            "SELECT COUNT(*) AS n FROM sync_point p JOIN stack s ON s.id = p.stack_id WHERE NOT (s.status = 'IN_PROGRESS' "
            'AND s.current_traversal = p.traversal_id AND s.deleted_at IS NULL)')[0]['n']
        found['made twice'] = self.made_twice()
        found['leaked'] = self.leaked()
        found['not as wanted'] = [complaint for stack in self.stacks for complaint in self.wrong(stack)]
        found['queues of dead engines'] = self.queues(living)
        found['asked'] = sum(stack.asked for stack in self.stacks)
        found['attempts refused'] = sum(stack.refused for stack in self.stacks)
        found['worker went down'] = self.rows("SELECT COUNT(*) AS n FROM event WHERE resource_status_reason LIKE "
                                              "'Worker went down%%'")[0]['n']
        return found

    def complaints(self, found):
        return [key for key in ('asleep', 'locks of dead engines', 'sync points left', 'made twice', 'leaked', 'not as wanted')
                if found[key]]

    def made_twice(self):
        made = self.rows("SELECT s.name AS stack, e.physical_resource_id AS object, COUNT(*) AS n FROM event e JOIN stack s "
                         "ON s.id = e.stack_id WHERE e.resource_action = 'CREATE' AND e.resource_status = 'COMPLETE' "
                         "AND e.resource_type <> 'OS::Heat::Stack' GROUP BY s.name, e.physical_resource_id HAVING n > 1")
        # Two healthy rows of one name in a stack that is done.
        doubled = self.rows("SELECT s.name AS stack, r.name AS resource, COUNT(*) AS n FROM resource r JOIN stack s "
                            "ON s.id = r.stack_id WHERE s.status = 'COMPLETE' AND r.status = 'COMPLETE' AND r.action <> 'DELETE' "
                            'GROUP BY s.name, r.name HAVING n > 1')
        return made + doubled

    def leaked(self):
        """Objects that were made, whose row is gone, and that nobody deleted."""
        def objects(action):
            return {(row['stack_id'], row['object']) for row in self.rows(
                'SELECT DISTINCT stack_id, physical_resource_id AS object FROM event WHERE resource_action = %s AND '
                "resource_status = 'COMPLETE' AND resource_type <> 'OS::Heat::Stack'", action)}
        present = {(row['stack_id'], row['object']) for row in self.rows(
            'SELECT stack_id, nova_instance AS object FROM resource WHERE nova_instance IS NOT NULL')}
        return sorted(objects('CREATE') - objects('DELETE') - present)

    def wrong(self, stack):
        if stack.wanted is None:
            yield '%s: the user did not come to the end' % stack.name
            return
        row = self.rows('SELECT action, status, status_reason, deleted_at FROM stack WHERE id = %s', stack.id)[0]
        if stack.wanted == 'gone':
            if not row['deleted_at']:
                yield '%s is %s_%s, not gone: %s' % (stack.name, row['action'], row['status'], row['status_reason'])
            return
        if row['deleted_at'] or row['status'] != 'COMPLETE':
            yield '%s is %s_%s: %s' % (stack.name, row['action'], row['status'], row['status_reason'])
            return
        values = self.rows("SELECT r.name, d.value FROM resource r LEFT JOIN resource_data d ON d.resource_id = r.id AND "
                           "d.`key` = 'value' WHERE r.stack_id = %s AND r.status = 'COMPLETE' AND r.action <> 'DELETE'", stack.id)
        expected = {'r%d' % number: '%d-%d' % (stack.wanted, number) for number in range(stack.options.resources)}
        got = {value['name']: value['value'] for value in values}
        if got != expected:
            differing = sorted(set(got.items()) ^ set(expected.items()))
            yield '%s: %s' % (stack.name, differing[:6])

    def queues(self, living):
        names = [queue['name'] for queue in self.lab.management('GET', 'queues/' + self.rig.name)]
        own = [name for name in names if name.startswith(('engine_worker.', 'heat-engine-listener.'))]
        return len([name for name in own if name.split('.', 1)[1] not in living])
