"""Speaks TLS on a port of its own choice and passes what it hears to a broker that does not.

Takes the certificate, the key, the authority of clients (or nothing), the broker's host and port; prints its port.
"""
import socket
import ssl
import sys
import threading

certificate, key, authority, host, port = sys.argv[1:]
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain(certificate, key)
if authority:
    context.load_verify_locations(authority)
    context.verify_mode = ssl.CERT_REQUIRED


def pump(source, sink):
    try:
        while data := source.recv(65536):
            sink.sendall(data)
    except OSError:
        pass
    finally:
        for end in (source, sink):
            try:
                end.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass


def serve(plain):
    try:
        client = context.wrap_socket(plain, server_side=True)
    except (OSError, ssl.SSLError):
        return
    broker = socket.create_connection((host, int(port)))
    threading.Thread(target=pump, args=(client, broker), daemon=True).start()
    pump(broker, client)


listener = socket.create_server(('127.0.0.1', 0))
print(listener.getsockname()[1], flush=True)
while True:
    connection, _ = listener.accept()
    threading.Thread(target=serve, args=(connection,), daemon=True).start()
