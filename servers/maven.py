"""Jars through Maven, with a generated pom: versions come from the table, checksums are strict."""

from pathlib import Path
from xml.sax.saxutils import escape

from servers import tools
from servers.cache import Cache, key_of, verify_pins
from servers.versions import MAVEN_DEPENDENCY_PLUGIN, Jar, Release

_EVERYTHING = "<exclusions><exclusion><groupId>*</groupId><artifactId>*</artifactId></exclusion></exclusions>"


def pom_of(name: str, jars: tuple[Jar, ...]) -> str:
    """A pom that has the jars as its dependencies."""
    entries = []
    for jar in jars:
        parts = [
            f"<groupId>{escape(jar.group)}</groupId>",
            f"<artifactId>{escape(jar.artifact)}</artifactId>",
            f"<version>{escape(jar.version)}</version>",
            f"<type>{escape(jar.type)}</type>",
        ]
        if jar.classifier:
            parts.append(f"<classifier>{escape(jar.classifier)}</classifier>")
        if jar.alone:
            parts.append(_EVERYTHING)
        entries.append(f"    <dependency>{''.join(parts)}</dependency>")
    listed = "\n".join(entries)
    return (
        '<project xmlns="http://maven.apache.org/POM/4.0.0">\n'
        "  <modelVersion>4.0.0</modelVersion>\n"
        f"  <groupId>lance-ns.servers</groupId>\n  <artifactId>{escape(name)}</artifactId>\n"
        "  <version>1</version>\n  <packaging>pom</packaging>\n"
        f"  <dependencies>\n{listed}\n  </dependencies>\n</project>\n"
    )


def fetch_jars(name: str, jars: tuple[Jar, ...], directory: Path, log: Path) -> None:
    """Copy the jars and what they depend on into `directory`/lib, and compare the pinned ones."""
    maven = tools.require(name, "mvn")
    pom = directory / "pom.xml"
    pom.write_text(pom_of(name, jars), encoding="utf-8")
    tools.run(
        f"{name}: fetching libraries with Maven",
        [
            maven,
            "--batch-mode",
            "--strict-checksums",
            "--file",
            str(pom),
            f"{MAVEN_DEPENDENCY_PLUGIN}:copy-dependencies",
            f"-DoutputDirectory={directory / 'lib'}",
            "-DincludeScope=runtime",
        ],
        directory,
        log,
    )
    verify_pins(directory / "lib", {jar.file: jar.sha256 for jar in jars if jar.sha256})


def libraries(cache: Cache, name: str, release: Release) -> Path:
    """The directory with a release's jars; servers of one version share it."""

    def fetch(directory: Path) -> None:
        fetch_jars(name, release.jars, directory, cache.directory / f"{name}.fetch.log")

    return cache.obtain(key_for(release), fetch, mib=release.disk_mib)


def key_for(release: Release) -> str:
    """The cache key of a release's jars."""
    top = release.jars[0]
    return key_of(f"{top.artifact}-{top.version}", *(repr(jar) for jar in release.jars), MAVEN_DEPENDENCY_PLUGIN)
