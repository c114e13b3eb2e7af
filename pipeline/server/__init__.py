"""The port for pages and sockets: who may connect, what they get and send."""
