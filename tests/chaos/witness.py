"""Who wrote what: every engine has a database user of its own, and triggers note who makes and removes rows.

Two engines that work on one stack leave rows that look the same. What is wrong in the end can then be charged to whoever
made it, and told from what another made.
"""
import rig as lab

TABLE = '''CREATE TABLE chaos_trace (
    id BIGINT AUTO_INCREMENT PRIMARY KEY, at DATETIME(3) NOT NULL, who VARCHAR(128) NOT NULL, what VARCHAR(16) NOT NULL,
    stack_id VARCHAR(36), resource_id INT, name VARCHAR(255), object VARCHAR(255), state VARCHAR(64), detail TEXT,
    KEY (stack_id), KEY (resource_id), KEY (object))'''

# name -> (moment, columns of chaos_trace from `what` on)
TRIGGERS = {
    'made': ('AFTER INSERT ON resource', "'made', NEW.stack_id, NEW.id, NEW.name, NEW.nova_instance, CONCAT(NEW.action, '_', NEW.status), "
             "CONCAT('replaces ', NEW.replaces)"),
    'removed': ('AFTER DELETE ON resource', "'removed', OLD.stack_id, OLD.id, OLD.name, OLD.nova_instance, CONCAT(OLD.action, '_', OLD.status), "
                'OLD.engine_id'),
    'event': ('AFTER INSERT ON event', "'event', NEW.stack_id, NULL, NEW.resource_name, NEW.physical_resource_id, "
              "CONCAT(NEW.resource_action, '_', NEW.resource_status), NEW.resource_status_reason"),
    'state': ('AFTER UPDATE ON resource', "'state', NEW.stack_id, NEW.id, NEW.name, NEW.nova_instance, CONCAT(NEW.action, '_', NEW.status), "
              "CONCAT(COALESCE(OLD.engine_id, '-'), ' > ', COALESCE(NEW.engine_id, '-'), ' ', COALESCE(NEW.replaced_by, ''))"),
    'stack': ('AFTER UPDATE ON stack', "'stack', NEW.id, NULL, NEW.name, NEW.current_traversal, CONCAT(NEW.action, '_', NEW.status), "
              'NEW.status_reason'),
}


def install(rig):
    cursor = rig.connection.cursor()
    cursor.execute(TABLE)
    for name, (moment, columns) in TRIGGERS.items():
        cursor.execute('CREATE TRIGGER chaos_%s %s FOR EACH ROW INSERT INTO chaos_trace '
                       '(at, who, what, stack_id, resource_id, name, object, state, detail) '
                       "VALUES (UTC_TIMESTAMP(3), SUBSTRING_INDEX(USER(), '@', 1), %s)" % (name, moment, columns))


def user_of(rig, number):
    return '%s_n%d' % (rig.name, number)


def connection_for(rig, number):
    """The URL by which that engine alone comes to the database; made if it is new."""
    user = user_of(rig, number)
    lab.execute("CREATE USER IF NOT EXISTS '%s'@'%s' IDENTIFIED BY 'rig'" % (user, lab.DB['host']),
                "GRANT ALL ON %s.* TO '%s'@'%s'" % (rig.name, user, lab.DB['host']))
    return 'mysql+pymysql://%s:rig@%s:%d/%s' % (user, lab.DB['host'], lab.DB['port'], rig.name)
