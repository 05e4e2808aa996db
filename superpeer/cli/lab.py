"""`superpeer lab`: run the experiments that compare hash-placed systems with selective broadcast."""

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from superpeer.cli.choosing import JsonOption
from superpeer.cli.output import print_json, print_table

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

app = typer.Typer(
    name="lab",
    help="Run experiments with hash-placed subscriptions: DHTStrings, IIM, DHTrie, RDFPeers.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

EVERYTHING = "all"


@app.command(name="list")
def list_experiments(as_json: JsonOption = False) -> None:
    """List the experiments.

    superpeer lab list --json
    """
    from superpeer.dht.lab import experiments

    known = experiments().values()
    if as_json:
        print_json([{"name": one.name, "title": one.title, "source": one.source} for one in known])
    else:
        print_table(("experiment", "what it measures"), [(one.name, one.title) for one in known])


@app.command()
def run(
    name: Annotated[str, typer.Argument(metavar="EXPERIMENT", help="Its name in `superpeer lab list`, or `all`.")],
    out: Annotated[Path, typer.Option(metavar="DIR", help="Where the figures go, as PNG and CSV.")],
    scale: Annotated[float, typer.Option(help="Which part of the papers' sizes: 0.1 is a tenth.")] = 1.0,
    seed: Annotated[int, typer.Option(help="The first seed; another one gives another run.")] = 0,
    seeds: Annotated[int, typer.Option(help="How many seeds to run; figures show their mean and spread.")] = 3,
    workers: Annotated[int, typer.Option(help="How many processes to use.")] = 2,
) -> None:
    """Run an experiment and write its figures.

    \b
    superpeer lab run strings-mixed --out figures
    superpeer lab run all --out figures --scale 0.1 --seeds 1
    """
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    from superpeer.dht.lab import experiment, experiments
    from superpeer.dht.lab.experiment import require_settings
    from superpeer.dht.lab.experiment import run as run_experiment
    from superpeer.dht.lab.output import make_directory, require_plotting, write

    chosen = list(experiments().values()) if name == EVERYTHING else [experiment(name)]
    require_settings(scale=scale, seed=seed, seeds=seeds, workers=workers)
    require_plotting()
    make_directory(out)
    bar = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    for one in chosen:
        with Progress(*bar, console=Console(stderr=True)) as progress:
            report = partial(_advance, progress, progress.add_task(one.name, total=None))
            found = run_experiment(one, scale=scale, seed=seed, seeds=seeds, workers=workers, progress=report)
        for path in write(found, out):
            print(path)


def _advance(progress: "Progress", task: "TaskID", done: int, of: int) -> None:
    progress.update(task, completed=done, total=of)
