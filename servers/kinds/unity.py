"""Unity Catalog: the official server from the user's directory, a running one, or an independent one from a crate."""

import os
import re
from pathlib import Path

from servers import builds
from servers.errors import Missing, StartFailed
from servers.kinds.base import Launch, Machine, Profile, Server, fresh_directory, home_from
from servers.ports import HOST
from servers.probes import expect_ok, http_json
from servers.state import Facts, ServerState
from servers.versions import OLAI_UC_SERVER

API = "/api/2.1/unity-catalog"
CATALOG = "lance"


class Unity(Server):
    """UNITY_ENDPOINT before UNITY_HOME before the independent server, a dialect of its own."""

    def external(self) -> str | None:
        """A running server."""
        endpoint = os.environ.get("UNITY_ENDPOINT")
        return endpoint.rstrip("/") if endpoint else None

    def version(self, machine: Machine) -> str:
        """Which of the three."""
        del machine
        if self.external():
            return "running elsewhere"
        home = home_from("UNITY_HOME")
        if home is not None:
            return official_version(home)
        return f"{OLAI_UC_SERVER.name} {OLAI_UC_SERVER.version}"

    def prepare(self, machine: Machine) -> None:
        """Look at the user's directory, or build the crate."""
        home = home_from("UNITY_HOME")
        if home is not None:
            class_path(home)
            self.java()
            return
        if not builds.cargo_command_is_cached(machine.cache, OLAI_UC_SERVER) and not builds.has("cargo"):
            message = (
                "unity: no server to be had. Let UNITY_HOME name an unpacked or built release of the official server, "
                "or UNITY_ENDPOINT a running one; or install Cargo, and an independent server is built instead."
            )
            raise Missing(message)
        builds.cargo_command(machine.cache, self.name, OLAI_UC_SERVER, self.release.disk_mib)

    def launch(self, machine: Machine, state: ServerState, port: int) -> Launch:
        """The official server in a directory of its own, or the independent one on a database in memory."""
        home = home_from("UNITY_HOME")
        fresh_directory(state.data / "warehouse")
        if home is not None:
            write_official_configuration(state.data)
            main = "io.unitycatalog.server.UnityCatalogServer"
            command = self.java_command("-cp", class_path(home), main, "-p", str(port))
            return Launch(command, {}, state.data)
        config = state.data / "config.yaml"
        files = state.data / "warehouse"
        config.write_text(
            "backend:\n  engine: sqlite\n  path: ':memory:'\n"
            f"local_storage:\n  allowed-roots: ['{files}']\n"
            f"managed_storage_root: '{(files / 'managed').as_uri()}'\n",
            encoding="utf-8",
        )
        binary = builds.cargo_command(machine.cache, self.name, OLAI_UC_SERVER, self.release.disk_mib)
        command = [str(binary), "serve", "--config", str(config), "--no-ui", "--host", HOST, "--port", str(port)]
        return Launch(command, {}, state.data)

    def check(self, machine: Machine, facts: Facts) -> None:
        """List the catalogs."""
        del machine
        expect_ok(f"{facts.endpoint}{API}/catalogs", headers=token_header())

    def settle(self, machine: Machine, facts: Facts) -> None:
        """Make the catalog; the independent server also wants a credential and a place before external tables."""
        post(facts, "catalogs", {"name": CATALOG})
        if self.external() is None and home_from("UNITY_HOME") is None:
            files = machine.server_state(self.name).data / "warehouse"
            post(
                facts,
                "credentials",
                {
                    "name": CATALOG,
                    "purpose": "STORAGE",
                    "aws_iam_role": {"role_arn": "arn:aws:iam::123456789012:role/lance"},
                },
            )
            post(facts, "external-locations", {"name": CATALOG, "url": files.as_uri(), "credential_name": CATALOG})

    def profiles(self, machine: Machine, facts: Facts) -> dict[str, Profile]:
        """Tables on local files."""
        files = fresh_directory(machine.server_state(self.name).data / "warehouse")
        profile: Profile = {"backend": "unity", "endpoint": facts.endpoint, "catalog": CATALOG, "root": str(files)}
        token = os.environ.get("UNITY_TOKEN")
        return {f"{self.name}-live": {**profile, "auth_token": token} if token else profile}


def token_header() -> dict[str, str]:
    """The user's token for a server that wants one."""
    token = os.environ.get("UNITY_TOKEN")
    return {"Authorization": f"Bearer {token}"} if token else {}


def post(facts: Facts, collection: str, document: dict[str, object]) -> None:
    """Create something that may be there already."""
    status, answer = http_json(f"{facts.endpoint}{API}/{collection}", document, method="POST", headers=token_header())
    exists = "ALREADY_EXISTS" in str(answer) or "already exists" in str(answer).lower()
    if status not in (200, 201, 409) and not exists:
        message = f"unity: POST {collection} answered {status}: {answer}"
        raise StartFailed(message)


def class_path(home: Path) -> str:
    """The class path of an official server: a release's jars, or what its build wrote down."""
    for jars in (home / "jars", home / "lib", home):
        if jars.is_dir() and any(jars.glob("*.jar")):
            return in_order_of_the_release(jars)
    for written in sorted((home / "server" / "target").rglob("classpath")):
        return written.read_text(encoding="utf-8").strip()
    message = (
        f"unity: UNITY_HOME is {home}, and there is no server in it: neither jars/*.jar (an unpacked release) nor "
        f"server/target/classpath (a build). Correct it, or unset it."
    )
    raise Missing(message)


def in_order_of_the_release(jars: Path) -> str:
    """The jars of a release in the order of its build.

    A release puts the libraries of the server and of its command line into one directory, in different versions where
    they differ. `jars/classpath` tells their order, the server's first, by paths of the machine that built it: only the
    names hold here.
    """
    listed = jars / "classpath"
    if not listed.is_file():
        return f"{jars}/*"
    names = [entry.rpartition("/")[2] for entry in listed.read_text(encoding="utf-8").strip().split(":")]
    ordered = dict.fromkeys(name for name in names if (jars / name).is_file())
    rest = sorted(jar.name for jar in jars.glob("*.jar") if jar.name not in ordered)
    return ":".join(str(jars / name) for name in [*ordered, *rest])


def official_version(home: Path) -> str:
    """The version from the name of the server's jar."""
    for jar in sorted(home.rglob("unitycatalog-server-*.jar")):
        found = re.search(r"unitycatalog-server-(\d[\w.+-]*?)\.jar", jar.name)
        if found:
            return found.group(1)
    return "official"


def write_official_configuration(data: Path) -> None:
    """The configuration that the official server looks for below its working directory."""
    conf = fresh_directory(data / "etc/conf")
    fresh_directory(data / "etc/db")
    fresh_directory(data / "etc/logs")
    (conf / "server.properties").write_text("server.env=dev\nserver.authorization=disable\n", encoding="utf-8")
    (conf / "hibernate.properties").write_text(
        "hibernate.connection.driver_class=org.h2.Driver\n"
        "hibernate.connection.url=jdbc:h2:file:./etc/db/h2db;DB_CLOSE_DELAY=-1\n"
        "hibernate.hbm2ddl.auto=update\n",
        encoding="utf-8",
    )
    (conf / "server.log4j2.properties").write_text(
        "status=error\nappender.console.type=Console\nappender.console.name=console\n"
        "appender.console.layout.type=PatternLayout\n"
        "appender.console.layout.pattern=%d{HH:mm:ss} %-5p %c{1} %m%n\n"
        "rootLogger.level=info\nrootLogger.appenderRef.console.ref=console\n",
        encoding="utf-8",
    )
