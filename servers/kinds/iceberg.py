"""The Iceberg project's reference server for its REST catalog."""

from servers import maven
from servers.kinds.base import BUCKET, REGION, Launch, Machine, Profile, Server, fresh_directory
from servers.probes import expect_ok
from servers.state import Facts, ServerState

WAREHOUSE = "lance"


class Iceberg(Server):
    """Strict or not, 1.11 or 1.10; tables on local files and, through iceberg-aws, on the object store."""

    def __init__(self, name: str, *, strict: bool) -> None:
        super().__init__(name)
        self._strict = strict

    def prepare(self, machine: Machine) -> None:
        """Fetch the jars."""
        self.java()
        maven.libraries(machine.cache, self.name, self.release)

    def launch(self, machine: Machine, state: ServerState, port: int) -> Launch:
        """The server on an H2 database in memory: its sqlite in memory fails under several threads."""
        libraries = maven.libraries(machine.cache, self.name, self.release) / "lib"
        warehouse = fresh_directory(state.data / "warehouse")
        settings = {
            "catalog-impl": "org.apache.iceberg.jdbc.JdbcCatalog",
            "uri": "jdbc:h2:mem:iceberg;DB_CLOSE_DELAY=-1",
            "warehouse": warehouse.as_uri(),
            "jdbc.strict-mode": "true" if self._strict else "false",
            "io-impl": "org.apache.iceberg.io.ResolvingFileIO",
            "s3.endpoint": machine.s3_endpoint,
            "s3.path-style-access": "true",
            "s3.access-key-id": machine.s3_access_key,
            "s3.secret-access-key": machine.s3_secret_key,
            "client.region": REGION,
            "rest.port": str(port),
        }
        environment = {variable_of(key): value for key, value in settings.items()}
        environment["REST_PORT"] = str(port)
        command = self.java_command("-cp", f"{libraries}/*", "org.apache.iceberg.rest.RESTCatalogServer")
        return Launch(command, environment, state.data)

    def check(self, machine: Machine, facts: Facts) -> None:
        """Read the configuration."""
        del machine
        expect_ok(f"{facts.endpoint}/v1/config")

    def profiles(self, machine: Machine, facts: Facts) -> dict[str, Profile]:
        """One on local files, one on the object store."""
        common: Profile = {"backend": "iceberg", "endpoint": facts.endpoint, "warehouse": WAREHOUSE}
        files = fresh_directory(machine.server_state(self.name).data / "warehouse")
        return {
            f"{self.name}-live": {**common, "root": str(files)},
            f"{self.name}-live-s3": {**common, "root": f"s3://{BUCKET}/{self.name}", **machine.storage_on_s3()},
        }


def variable_of(key: str) -> str:
    """The environment variable from which the server reads a catalog property: `_` is a dot, `__` a dash."""
    return "CATALOG_" + key.replace("-", "__").replace(".", "_").upper()
