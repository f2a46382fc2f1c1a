"""Encrypted connections: whom we trust, and who we are, for every client that speaks TLS."""

from typing import TYPE_CHECKING

import attrs

from lance_ns.errors import InvalidInput

if TYPE_CHECKING:
    import ssl


@attrs.frozen(kw_only=True)
class Tls:
    """Whom we trust, and who we are. The server's certificate and its name are always checked.

    Attributes:
        ca_bundle: a file of certificates to trust in the place of the system's own.
        client_certificate: a file with the certificate, and its chain, that we show the server.
        client_key: the file of its private key, where that is not in the same file.
    """

    ca_bundle: str | None = None
    client_certificate: str | None = None
    client_key: str | None = None

    def context(self) -> "ssl.SSLContext":
        """What the standard library makes connections with.

        Raises:
            InvalidInput: a file cannot be read, or is not what it should be.
        """
        import ssl

        if self.client_key and not self.client_certificate:
            raise InvalidInput("'client_key' is of no use alone", hint="give 'client_certificate' too")
        try:
            context = ssl.create_default_context(cafile=self.ca_bundle)
            if self.client_certificate:
                # Without a password an encrypted key would be asked for on the terminal.
                context.load_cert_chain(self.client_certificate, self.client_key, password="")
        except OSError as error:
            raise InvalidInput(
                f"the certificates for TLS cannot be read: {error}",
                hint="check 'ca_bundle', 'client_certificate' and 'client_key'",
            ) from error
        return context
