"""What can go wrong, as messages for a person: each says what is the matter and what to do."""


class ServersError(Exception):
    """A failure with a message that needs no stack trace."""


class Missing(ServersError):
    """This machine lacks what the server needs: a JDK, Maven, a home directory."""


class FetchFailed(ServersError):
    """An artifact could not be had: no network, no space, a wrong checksum."""


class PortTaken(ServersError):
    """The port that was asked for belongs to another process."""


class StartFailed(ServersError):
    """The server was started and did not become ready."""


class NotReady(Exception):
    """A ready check's answer while the server is still coming up; its text says what was seen."""
