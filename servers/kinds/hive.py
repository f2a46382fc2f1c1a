"""Hive Metastore 3 and 4 on an embedded Derby database, prepared once and copied for every start."""

import shutil
import tarfile
from pathlib import Path
from xml.sax.saxutils import escape

from servers import maven, tools
from servers.cache import key_of
from servers.kinds.base import BUCKET, Launch, Machine, Profile, Server, fresh_directory
from servers.ports import HOST
from servers.probes import metastore_catalogs
from servers.state import Facts, ServerState

_OPEN_PACKAGES = ("java.base/java.lang", "java.base/java.net", "java.base/java.util")


class Hive(Server):
    """A metastore; catalogs other than `hive` work on both versions."""

    def __init__(self, name: str, *, schema_tool: str) -> None:
        super().__init__(name)
        self._schema_tool = schema_tool

    def endpoint(self, port: int) -> str:
        """A Thrift address."""
        return f"thrift://{HOST}:{port}"

    def prepare(self, machine: Machine) -> None:
        """Fetch the jars, make the empty database."""
        self.java()
        self._template(machine)

    def _libraries(self, machine: Machine) -> Path:
        return maven.libraries(machine.cache, self.name, self.release)

    def _template(self, machine: Machine) -> Path:
        """An empty metastore database; making one takes longer than starting the server."""
        libraries = self._libraries(machine)

        def make(directory: Path) -> None:
            home = directory / "home"
            archive = next(jar for jar in self.release.jars if jar.type == "tar.gz")
            unpack_scripts(libraries / "lib" / archive.file, home)
            conf = write_configuration(directory / "conf", database=directory / "db", warehouse=directory / "warehouse")
            tools.run(
                f"{self.name}: making an empty metastore database (once)",
                [*self._java(conf, libraries / "lib"), self._schema_tool, "-initSchema", "-dbType", "derby"],
                directory,
                machine.cache.directory / f"{self.name}.fetch.log",
                environment={"METASTORE_HOME": str(home)},
                limit=600.0,
            )
            shutil.rmtree(home)
            shutil.rmtree(conf)

        key = key_of(f"{self.name}-database", maven.key_for(self.release), self._schema_tool)
        return machine.cache.obtain(key, make, mib=50) / "db"

    def _java(self, conf: Path, libraries: Path) -> list[str]:
        opened = [part for package in _OPEN_PACKAGES for part in ("--add-opens", f"{package}=ALL-UNNAMED")]
        return self.java_command(*opened, "-cp", f"{conf}:{libraries}/*")

    def launch(self, machine: Machine, state: ServerState, port: int) -> Launch:
        """The server on a copy of the empty database."""
        shutil.copytree(self._template(machine), state.data / "db")
        conf = write_configuration(
            state.data / "conf",
            database=state.data / "db",
            warehouse=fresh_directory(state.data / "warehouse"),
            s3={
                "fs.s3a.endpoint": machine.s3_endpoint,
                "fs.s3a.access.key": machine.s3_access_key,
                "fs.s3a.secret.key": machine.s3_secret_key,
                "fs.s3a.path.style.access": "true",
                "fs.s3a.connection.ssl.enabled": "false",
                # Without a store at the other end a call must fail in seconds, not after the default's minutes.
                "fs.s3a.attempts.maximum": "3",
                "fs.s3a.retry.limit": "2",
                "fs.s3a.connection.establish.timeout": "3000",
                # Lance writes s3://, Hadoop knows s3a://.
                "fs.s3.impl": "org.apache.hadoop.fs.s3a.S3AFileSystem",
            },
        )
        main = "org.apache.hadoop.hive.metastore.HiveMetaStore"
        command = [*self._java(conf, self._libraries(machine) / "lib"), main, "-p", str(port)]
        return Launch(command, {}, state.data)

    def check(self, machine: Machine, facts: Facts) -> None:
        """List the catalogs: the port opens long before calls are answered."""
        del machine
        metastore_catalogs(HOST, facts.port)

    def profiles(self, machine: Machine, facts: Facts) -> dict[str, Profile]:
        """One on local files, outside of what Hive manages, one on the object store; both versions have one backend."""
        common: Profile = {"backend": "hive3", "uri": facts.endpoint}
        files = fresh_directory(machine.server_state(self.name).data / "lake")
        return {
            f"{self.name}-live": {**common, "root": str(files)},
            f"{self.name}-live-s3": {**common, "root": f"s3://{BUCKET}/{self.name}", **machine.storage_on_s3()},
        }


def unpack_scripts(archive: Path, home: Path) -> None:
    """Take the schema scripts for Derby out of a release, and leave its first directory out of their paths."""
    with tarfile.open(archive) as release:
        for member in release:
            inside = member.name.partition("/")[2]
            if member.isfile() and inside.startswith("scripts/metastore/upgrade/derby/"):
                target = home / inside
                target.parent.mkdir(parents=True, exist_ok=True)
                source = release.extractfile(member)
                assert source is not None
                target.write_bytes(source.read())


def write_configuration(conf: Path, *, database: Path, warehouse: Path, s3: dict[str, str] | None = None) -> Path:
    """The two configuration files of a metastore."""
    conf.mkdir(parents=True, exist_ok=True)
    metastore = {
        "javax.jdo.option.ConnectionURL": f"jdbc:derby:;databaseName={database};create=true",
        "javax.jdo.option.ConnectionDriverName": "org.apache.derby.jdbc.EmbeddedDriver",
        "metastore.warehouse.dir": warehouse.as_uri(),
        "metastore.thrift.bind.host": HOST,
        # 3.1.3 ends at its start without these two.
        "metastore.expression.proxy": "org.apache.hadoop.hive.metastore.DefaultPartitionExpressionProxy",
        "metastore.task.threads.always": "org.apache.hadoop.hive.metastore.events.EventCleanerTask",
    }
    (conf / "metastore-site.xml").write_text(hadoop_xml(metastore), encoding="utf-8")
    (conf / "core-site.xml").write_text(hadoop_xml(s3 or {}), encoding="utf-8")
    return conf


def hadoop_xml(properties: dict[str, str]) -> str:
    """Properties in Hadoop's file form."""
    listed = "".join(
        f"  <property><name>{escape(name)}</name><value>{escape(value)}</value></property>\n"
        for name, value in properties.items()
    )
    return f"<configuration>\n{listed}</configuration>\n"
