"""Nessie: a second, independent Iceberg REST server, on the object store only."""

from servers import maven
from servers.kinds.base import BUCKET, REGION, Launch, Machine, Profile, Server
from servers.ports import HOST
from servers.probes import expect_ok
from servers.state import Facts, ServerState

WAREHOUSE = "warehouse"


class Nessie(Server):
    """An in-memory version store; it writes tables to the object store, which must be up before it."""

    needs = ("s3",)

    def endpoint(self, port: int) -> str:
        """Its Iceberg side."""
        return f"http://{HOST}:{port}/iceberg"

    def prepare(self, machine: Machine) -> None:
        """Fetch the runner."""
        self.java()
        maven.libraries(machine.cache, self.name, self.release)

    def launch(self, machine: Machine, state: ServerState, port: int) -> Launch:
        """The runner with a configuration file: secrets do not belong on a command line."""
        store = "nessie.catalog.service.s3.default-options"
        settings = {
            "quarkus.http.host": HOST,
            "quarkus.http.port": str(port),
            "quarkus.management.host": HOST,
            "quarkus.management.port": str(port + 1),
            "quarkus.log.console.format": "%d{HH:mm:ss} %-5p [%c{2.}] %s%e%n",
            "nessie.version.store.type": "IN_MEMORY",
            "nessie.catalog.default-warehouse": WAREHOUSE,
            f"nessie.catalog.warehouses.{WAREHOUSE}.location": f"s3://{BUCKET}/nessie",
            f"{store}.endpoint": machine.s3_endpoint,
            f"{store}.region": REGION,
            f"{store}.path-style-access": "true",
            f"{store}.access-key": "urn:nessie-secret:quarkus:store",
            "store.name": machine.s3_access_key,
            "store.secret": machine.s3_secret_key,
        }
        file = state.data / "application.properties"
        file.touch(mode=0o600)
        file.write_text("".join(f"{key}={value}\n" for key, value in settings.items()), encoding="utf-8")
        runner = maven.libraries(machine.cache, self.name, self.release) / "lib" / self.release.jars[0].file
        command = self.java_command(f"-Dsmallrye.config.locations={file}", "-jar", str(runner))
        return Launch(command, {}, state.data)

    def check(self, machine: Machine, facts: Facts) -> None:
        """Read the configuration."""
        del machine
        expect_ok(f"{facts.endpoint}/v1/config")

    def profiles(self, machine: Machine, facts: Facts) -> dict[str, Profile]:
        """Tables on the object store: Nessie takes no other."""
        profile: Profile = {
            "backend": "iceberg",
            "endpoint": facts.endpoint,
            "warehouse": WAREHOUSE,
            "root": f"s3://{BUCKET}/nessie",
        }
        return {f"{self.name}-live": {**profile, **machine.storage_on_s3()}}
