"""The properties of `hive3`, and the settings of the client that they make."""

import attrs

from lance_ns.config import StorageProperties, prop, properties
from lance_ns.errors import InvalidInput
from lance_ns.tls import Tls
from lance_ns_hive3.metastore import uris
from lance_ns_hive3.metastore.settings import Settings


@properties
class HiveConfig(StorageProperties):
    """Where the metastore is, and where tables lie that name no location."""

    uri: str | None = prop(
        None,
        "The metastore, `thrift://host:port`; several, separated by commas, are members of one that are tried in turn",
        shown="that of `hive-site.xml` in the directory `HIVE_CONF_DIR`",
    )
    pool_size: int = prop(3, "How many connections there are at most", name="client.pool-size", at_least=1)
    root: str | None = prop(
        None,
        "Where tables lie for which no location is given: `{root}/{catalog}/{database}/{table}`",
        shown="the database's location",
        location=True,
    )
    connect_timeout: float = prop(10.0, "How long to wait for a connection", unit="seconds", at_least=0.001)
    read_timeout: float = prop(60.0, "How long to wait for an answer", unit="seconds", at_least=0.001)
    operation_timeout: float = prop(
        300.0, "How long one operation may take with all its calls", unit="seconds", at_least=0.001
    )
    user: str | None = prop(None, "As whom the metastore shall act, where it believes its clients")
    groups: tuple[str, ...] = prop((), "The groups of that user", shown="none")
    use_tls: bool = prop(False, "Whether connections are encrypted; certificate and name of the server are checked")
    ca_bundle: str | None = prop(
        None, "A file of certificates to trust in the place of the system's own", shown="the system's"
    )
    client_certificate: str | None = prop(None, "A file with the certificate, and its chain, that we show the server")
    client_key: str | None = prop(None, "The file of that certificate's private key, where it is not in the same file")

    def settings(self) -> Settings:
        """How to reach the metastore: what is given, else what an installation's `hive-site.xml` says.

        Raises:
            InvalidInput: neither says where it is.
        """
        common = Settings(
            addresses=uris.parse(self.uri) if self.uri else (),
            connections=self.pool_size,
            connect_seconds=self.connect_timeout,
            call_seconds=self.read_timeout,
            wait_seconds=self.operation_timeout,
            user=self.user,
            groups=self.groups,
            tls=Tls(ca_bundle=self.ca_bundle, client_certificate=self.client_certificate, client_key=self.client_key)
            if self.use_tls
            else None,
        )
        if self.uri:
            return common
        from lance_ns_hive3.metastore import hivesite

        site = hivesite.read()
        if site is None:
            raise InvalidInput(
                "nothing says where the metastore is",
                hint="set the property 'uri', or HIVE_CONF_DIR to a directory with a hive-site.xml",
            )
        return attrs.evolve(
            common,
            addresses=site.addresses,
            connect_seconds=site.connect_seconds or common.connect_seconds,
            call_seconds=site.call_seconds or common.call_seconds,
            tls=common.tls or site.tls,
        )
