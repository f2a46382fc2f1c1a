"""Pipelines, run: steps in order, each job by its id, until one fails."""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import attrs

from lance_ns.errors import InvalidInput, LanceNsError
from lance_ns_spark import job_ids
from lance_ns_spark.pipeline import plan, steps
from lance_ns_spark.pipeline.connections import Connections
from lance_ns_spark.pipeline.schema import Copy, Ingest, Pipeline, Step, kind_of, title_of
from lance_ns_spark.progress import Progress, silent
from lance_ns_spark.results import Result

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_NOT_IN_IDS = re.compile(r"[^A-Za-z0-9._:-]")


@attrs.frozen(kw_only=True)
class Outcome:
    """What became of a step."""

    number: int
    title: str
    kind: str
    job: str
    result: Result | None = None
    error: LanceNsError | None = None

    @property
    def state(self) -> str:
        """done, again (an earlier run had done it), planned, or failed."""
        if self.error is not None or (self.result is not None and self.result.failed):
            return "failed"
        if self.result is not None and self.result.dry_run:
            return "planned"
        again = self.result is not None and self.result.outputs and all(each.again for each in self.result.outputs)
        return "again" if again else "done"


@attrs.frozen(kw_only=True)
class Job:
    """A step that is to be done, and the id of its job."""

    number: int
    step: Step
    id: str

    @property
    def title(self) -> str:
        """What the step is called."""
        return title_of(self.step)


def jobs(pipeline: Pipeline, *, only: Sequence[str] = (), job: str | None = None, fresh: bool = False) -> list[Job]:
    """The jobs of a pipeline.

    An ingest or a copy has an id that follows from the pipeline's name, the step's name and its fields, so that it is
    done once. What looks at tables as they are, and would do nothing the second time anyway, has a new id each time.

    Args:
        pipeline: the pipeline.
        only: names, kinds or numbers of steps; without any, all.
        job: an id for this run, which the ids of all its jobs then begin with.
        fresh: whether an ingest or a copy is done again, even if it was done before.

    Raises:
        InvalidInput: there is no step of a name.
    """
    chosen = _chosen(pipeline, only)
    titles: dict[str, int] = {}
    made = []
    for number, step in pipeline.numbered():
        title = title_of(step)
        titles[title] = titles.get(title, 0) + 1
        nth = f"-{titles[title]}" if titles[title] > 1 else ""
        if job is not None:
            id = job_ids.checked(f"{job}/{_NOT_IN_IDS.sub('-', title)}{nth}")
        elif fresh or not isinstance(step, Ingest | Copy):
            id = job_ids.fresh()
        else:
            id = job_ids.job_id(pipeline=pipeline.name, step=title, parameters=_parameters(step))
        if number in chosen:
            made.append(Job(number=number, step=step, id=id))
    return made


def run(
    wanted: Iterable[Job],
    spark: "Callable[[], SparkSession]",
    *,
    dry_run: bool = False,
    explain: bool = False,
    progress: Progress = silent,
) -> Iterator[Outcome]:
    """Do jobs one after the other, and stop at the first that fails; its outcome is the last one.

    Args:
        wanted: the jobs.
        spark: starts Spark when it is first called, or gives the session that runs.
        dry_run: say what would be read and written, and change nothing.
        explain: say also how: by which path and in how many tasks.
        progress: told how far it is.
    """
    with Connections() as connections:
        for job in wanted:
            work = steps.Work(spark, connections, job.id, progress)
            outcome = Outcome(number=job.number, title=job.title, kind=kind_of(job.step), job=job.id)
            try:
                result = plan.planned(job.step, work, explain=explain) if dry_run else steps.done(job.step, work)
            except LanceNsError as error:
                yield attrs.evolve(outcome, error=error)
                return
            outcome = attrs.evolve(outcome, result=result)
            yield outcome
            if outcome.state == "failed":
                return


def as_json(pipeline: str, outcomes: Iterable[Outcome]) -> str:
    """The outcome of a run, with every result and its lineage, as one JSON document."""
    told = [
        {
            "step": outcome.number,
            "name": outcome.title,
            "kind": outcome.kind,
            "job": outcome.job,
            "state": outcome.state,
            "error": None if outcome.error is None else _as_data(outcome.error),
            "result": None if outcome.result is None else json.loads(outcome.result.as_json()),
        }
        for outcome in outcomes
    ]
    return json.dumps({"pipeline": pipeline, "steps": told}, indent=2, ensure_ascii=False) + "\n"


def _as_data(error: LanceNsError) -> dict[str, Any]:
    return {"code": int(error.code), "class": type(error).__name__, "message": str(error)}


def _chosen(pipeline: Pipeline, only: Sequence[str]) -> set[int]:
    numbers: set[int] = set()
    for wanted in only:
        found = {number for number, step in pipeline.numbered() if wanted in (str(number), step.name, kind_of(step))}
        if not found:
            there = ", ".join(f"{number} {title_of(step)}" for number, step in pipeline.numbered())
            raise InvalidInput(f"there is no step {wanted!r}", hint=f"there are {there}")
        numbers |= found
    return numbers or {number for number, _ in pipeline.numbered()}


def _parameters(step: Step) -> dict[str, Any]:
    """What makes a job a different one: all its fields but its name, and where it makes its notes."""
    data: dict[str, Any] = attrs.asdict(step)  # type: ignore[arg-type]  # made by `part`
    return {name: value for name, value in data.items() if name not in ("name", "state")}
