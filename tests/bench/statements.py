"""Which statements an operation costs, by the server's own log. The log is the whole server's: use a lab of your own, or
one that nobody else needs at the moment."""
import contextlib
import re

import rig as lab

# A prepared statement is parsed once for each connection and closed with it: no statement of any operation.
COMMANDS = ('Query', 'Execute')


@contextlib.contextmanager
def recorded(rig):
    """Yields a function that gives the statements of the rig's engine since the last call, oldest first."""
    lab.execute("SET GLOBAL log_output = 'TABLE'", 'TRUNCATE mysql.general_log', 'SET GLOBAL general_log = ON')

    def statements():
        rows = lab.execute(
            'SELECT command_type, CONVERT(argument USING utf8mb4) FROM mysql.general_log'
            " WHERE user_host LIKE '%s[%%'" % rig.name.replace('_', r'\_'))
        lab.execute('TRUNCATE mysql.general_log')
        return [statement for command, statement in rows if command in COMMANDS]
    try:
        yield statements
    finally:
        lab.execute('SET GLOBAL general_log = OFF', 'TRUNCATE mysql.general_log', "SET GLOBAL log_output = 'FILE'")


def shape(statement):
    """The statement without its values, so that statements of one kind can be counted."""
    text = re.sub(r"'(?:[^'\\]|\\.|'')*'", '?', statement, flags=re.DOTALL)
    text = re.sub(r'\bTIMESTAMP\?', '?', text)
    text = re.sub(r'\b\d+\b', '?', re.sub(r'\bNULL\b', '?', text))
    text = re.sub(r'(\((?:\?, )*\?\))(, \((?:\?, )*\?\))+', r'\1, …', text)
    text = re.sub(r'\((?:\?, )+\?\)', '(…)', text)
    return ' '.join(text.split())


def table(statements, resources):
    counts = {}
    for statement in statements:
        kind = shape(statement)
        counts[kind] = counts.get(kind, 0) + 1
    yield '%d statements, %.2f a resource' % (len(statements), len(statements) / resources)
    for kind, count in sorted(counts.items(), key=lambda item: -item[1]):
        yield '%6d %6.2f  %s' % (count, count / resources, kind[:150])
