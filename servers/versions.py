"""The one table of what runs: versions, checksums, the Java each server needs, the memory it may take."""

from dataclasses import dataclass

from servers.jdk import JavaRange


@dataclass(frozen=True, slots=True)
class Jar:
    """A Maven artifact; `alone` leaves out what it depends on, `sha256` is checked where it is given."""

    group: str
    artifact: str
    version: str
    classifier: str = ""
    type: str = "jar"
    sha256: str = ""
    alone: bool = False

    @property
    def file(self) -> str:
        """The name under which Maven copies it."""
        dash = f"-{self.classifier}" if self.classifier else ""
        return f"{self.artifact}-{self.version}{dash}.{self.type}"


@dataclass(frozen=True, slots=True)
class GoModule:
    """A command in a Go module, with the module's sum as Go itself writes it."""

    module: str
    command: str
    version: str
    sum: str


@dataclass(frozen=True, slots=True)
class Crate:
    """A command in a crate, with the checksum of the crate's file."""

    name: str
    version: str
    features: str
    command: str
    sha256: str


@dataclass(frozen=True, slots=True)
class Release:
    """One line of the table."""

    version: str
    summary: str
    # What all processes of the server may take, in MiB; the sum over the table stays below MEMORY_LIMIT_MIB.
    memory_mib: int
    java: JavaRange | None = None
    heap_mib: int = 0
    jars: tuple[Jar, ...] = ()
    # What the artifacts take on disk, asked for before they are fetched.
    disk_mib: int = 0
    ports: int = 1
    ready_seconds: float = 120.0


MEMORY_LIMIT_MIB = 6 * 1024

MAVEN_DEPENDENCY_PLUGIN = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1"
MOTO = "5.2.5"

VERSITYGW = GoModule(
    "github.com/versity/versitygw",
    "github.com/versity/versitygw/cmd/versitygw",
    "v1.8.0",
    "h1:au+wI+aybno/STsQiSm35Uu6Q6iK5MWReQxgO6SEMFc=",
)
OLAI_UC_SERVER = Crate(
    "olai-uc-server", "0.0.11", "bin", "uc-server", "d15cec3127f4baaf326f49cb42ebe6dd954c7c1d327410756511ba99ea7e925b"
)

_ICEBERG, _HIVE, _HADOOP = "org.apache.iceberg", "org.apache.hive", "org.apache.hadoop"
_JETTY = "org.eclipse.jetty"

_ICEBERG_1_11 = (
    Jar(
        _ICEBERG,
        "iceberg-open-api",
        "1.11.0",
        "test-fixtures",
        sha256="b0aa8636d88c24976d552ac9b3075a1315dc1ccd4fa6ed95b365901842664316",
    ),
    Jar(
        _ICEBERG,
        "iceberg-core",
        "1.11.0",
        sha256="53b9eb7a8c34fb9958ea7d9a4d19ba5bc96f592d0f05e8625b0778c70b1f0090",
    ),
    Jar(
        _ICEBERG,
        "iceberg-core",
        "1.11.0",
        "tests",
        sha256="4284719a5f0eb7db01e9f784a0ed4ca8bacf7d6f9951924143afc083428d8be3",
    ),
    Jar(
        _ICEBERG,
        "iceberg-aws",
        "1.11.0",
        sha256="4cfe4a7ba3a4fb247a29e60c614678c3b7a1e9b4b91f54e0ca3406419c9338f0",
    ),
    Jar(
        _ICEBERG,
        "iceberg-aws-bundle",
        "1.11.0",
        sha256="38f01da7e96850cdd05e6616d758b77b43314b712a8808e3f9a824d56976162f",
    ),
    Jar(_JETTY, "jetty-server", "12.1.4"),
    Jar(f"{_JETTY}.ee10", "jetty-ee10-servlet", "12.1.4"),
    Jar(f"{_JETTY}.compression", "jetty-compression-server", "12.1.4"),
    Jar(f"{_JETTY}.compression", "jetty-compression-gzip", "12.1.4"),
    Jar("org.xerial", "sqlite-jdbc", "3.50.3.0"),
    Jar("com.h2database", "h2", "2.3.232"),
    Jar(_HADOOP, "hadoop-client-api", "3.4.2"),
    Jar(_HADOOP, "hadoop-client-runtime", "3.4.2"),
    Jar("commons-logging", "commons-logging", "1.3.5"),
    Jar("org.slf4j", "slf4j-simple", "2.0.17"),
)

_ICEBERG_1_10 = (
    Jar(
        _ICEBERG,
        "iceberg-open-api",
        "1.10.1",
        alone=True,
        sha256="09e6aef58984eaa58bf1e1bc5193ad023e929c6bfd38c82db7b83ffe825af724",
    ),
    Jar("com.h2database", "h2", "2.3.232"),
)

_HIVE_3 = (
    Jar(
        _HIVE,
        "hive-standalone-metastore",
        "3.1.3",
        sha256="779d11d856d9f41b5f78658fdf7ddf1626f03c7ae5d808582484c3744597a1f3",
    ),
    Jar(
        _HIVE,
        "hive-standalone-metastore",
        "3.1.3",
        "bin",
        "tar.gz",
        alone=True,
        sha256="83ddf76717eeb789091d845c069a631c25cad561c3d31ec0843a1ddf21f29409",
    ),
    Jar(_HADOOP, "hadoop-client", "3.1.0"),
    # Alone: it names libraries for its own tests that no registry holds any more.
    Jar(
        _HADOOP,
        "hadoop-aws",
        "3.1.0",
        alone=True,
        sha256="a18508b9348af095ea41301e439354dbd449e304ac44c6885b2b4fe78de88126",
    ),
    Jar(
        "com.amazonaws",
        "aws-java-sdk-bundle",
        "1.11.271",
        alone=True,
        sha256="faf78ac4880f56cf52791d84ec1068ce7c66acc4295d580a726104b734c01fcd",
    ),
)

_HIVE_4 = (
    Jar(
        _HIVE,
        "hive-standalone-metastore-server",
        "4.0.1",
        sha256="e8ebcd3f9c4863779be08cc0acaf51909df93188024fd1c7807699773732b794",
    ),
    Jar(
        _HIVE,
        "hive-standalone-metastore-server",
        "4.0.1",
        "bin",
        "tar.gz",
        alone=True,
        sha256="ed96f577df0a4dc800648a7f941d832f42409f89fa4af10c9d7540c8a1f8e24b",
    ),
    Jar(_HADOOP, "hadoop-client", "3.3.6"),
    # Without it create_catalog drops the connection.
    Jar(_HADOOP, "hadoop-hdfs", "3.3.6"),
    Jar(_HADOOP, "hadoop-aws", "3.3.6", sha256="fba9eb73e6f0f5458355627fe095f5124705d4048551f4d6aa4084777b824c13"),
)

_NESSIE = (
    Jar(
        "org.projectnessie.nessie",
        "nessie-quarkus",
        "0.99.0",
        "runner",
        alone=True,
        sha256="ce9fa33e2878bf5ea3981876b9e6204cabc0362b3dd82326b10e47271a78c417",
    ),
)

RELEASES: dict[str, Release] = {
    "s3": Release("versitygw 1.8.0", "the object store for all of them", 150, disk_mib=1500),
    "glue": Release(f"moto {MOTO}", "Glue, STS and IAM: moto with what AWS does and moto does not", 250),
    "iceberg": Release(
        "1.11.0",
        "the Iceberg project's reference server, strict",
        500,
        JavaRange(17, 21),
        heap_mib=384,
        jars=_ICEBERG_1_11,
        disk_mib=400,
    ),
    "iceberg-lenient": Release(
        "1.11.0",
        "the same, non-strict: missing namespaces are implied",
        500,
        JavaRange(17, 21),
        heap_mib=384,
        jars=_ICEBERG_1_11,
        disk_mib=400,
    ),
    "iceberg-1.10": Release(
        "1.10.1",
        "the reference server before 1.11: other separator, other statuses",
        500,
        JavaRange(17, 21),
        heap_mib=384,
        jars=_ICEBERG_1_10,
        disk_mib=500,
    ),
    "hive3": Release(
        "3.1.3",
        "Hive Metastore 3",
        900,
        JavaRange(17, 17),
        heap_mib=640,
        jars=_HIVE_3,
        disk_mib=500,
        ready_seconds=180.0,
    ),
    "hive4": Release(
        "4.0.1",
        "Hive Metastore 4",
        900,
        JavaRange(17, 17),
        heap_mib=640,
        jars=_HIVE_4,
        disk_mib=1200,
        ready_seconds=180.0,
    ),
    "nessie": Release(
        "0.99.0",
        "Nessie: a second, independent Iceberg REST server",
        800,
        JavaRange(21),
        heap_mib=512,
        jars=_NESSIE,
        disk_mib=600,
        ports=2,
        ready_seconds=180.0,
    ),
    "unity": Release(
        "official, or olai-uc-server 0.0.11",
        "Unity Catalog",
        700,
        JavaRange(17, 21),
        heap_mib=448,
        disk_mib=3000,
        ports=2,
    ),
    "polaris": Release(
        "official",
        "Polaris",
        750,
        JavaRange(21),
        heap_mib=512,
        ports=2,
        ready_seconds=180.0,
    ),
}

TIERS: dict[str, tuple[str, ...]] = {
    "live": ("s3", "glue", "iceberg", "hive3"),
    "all": tuple(RELEASES),
}
