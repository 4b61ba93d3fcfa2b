"""The command line: `manometer cluster`, or `python -m manometer.cluster`."""

# Dask is only partly typed.
# pyright: basic
from __future__ import annotations

import argparse
import json
import logging
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from manometer.cluster import archive, load, rules, runs, security, service, traces, tunnel
from manometer.cluster.connection import connect, hosts_of
from manometer.cluster.host import device_name
from manometer.errors import ClusterError, ExperimentError, ManometerError, ProgramError


def main(words: Sequence[str]) -> int:
    """Runs the command line; returns the exit status."""
    own, after = _split(words)
    args, unknown = _parser().parse_known_args(own)
    if unknown:
        print(
            f"manometer: unknown argument {unknown[0]}: `manometer cluster {own[0]} --help` lists all", file=sys.stderr
        )
        return 2
    if after and args.verb not in (_replay, _trace):
        _parser().error(f"nothing may follow `--` here: {' '.join(after)}")
    args.words = after
    # Dask's own words are for whoever writes Dask; what matters here is said as an error.
    logging.getLogger("distributed").setLevel(logging.CRITICAL)
    try:
        args.verb(args)
    except KeyboardInterrupt:
        print("manometer: interrupted", file=sys.stderr)
        return 1
    except ManometerError as error:
        print(f"manometer: {error}", file=sys.stderr)
        return _status(error)
    return 0


def _split(words: Sequence[str]) -> tuple[Sequence[str], Sequence[str]]:
    """The words of this command line, and those after `--`, which are for the program."""
    end = list(words).index("--") if "--" in words else len(words)
    return words[:end], words[end + 1 :]


def _status(error: ManometerError) -> int:
    if isinstance(error, ExperimentError):
        return 2
    return (error.status or 1) if isinstance(error, (ClusterError, ProgramError)) else 1


def _init(args: argparse.Namespace) -> None:
    directory = security.initialise(args.directory)
    print(f"certificates in {directory}, valid for {security.VALID_DAYS} days: copy the directory to every host")


def _scheduler(args: argparse.Namespace) -> None:
    service.serve_scheduler(args.listen, args.security)


def _host(args: argparse.Namespace) -> None:
    own = rules.Rules() if args.rules is None else rules.read(args.rules)
    devices = dict(own.devices)
    for word in args.device:
        name, _, directory = word.rpartition("=")
        if not Path(directory).is_dir():
            raise ClusterError(f"--device {word}: {directory} is not a directory of this host")
        devices[name or device_name(Path(directory))] = Path(directory).absolute()
    service.serve_host(
        args.scheduler,
        replace(own, devices=devices),
        name=args.name,
        listen=args.listen,
        security=args.security,
        scratch=args.scratch,
    )


def _hosts(args: argparse.Namespace) -> None:
    with connect(args.scheduler, local=args.local, security=args.security) as client:
        found = hosts_of(client)
    if args.format == "json":
        print(json.dumps([{"name": one.name, "address": one.address, "resources": one.resources} for one in found]))
        return
    for one in found:
        print(f"{one.name}  {one.address}  Manometer {one.version}  {runs.offer(one)}")
    print(f"{len(found)} hosts" if len(found) != 1 else "1 host")


def _run(args: argparse.Namespace) -> None:
    wrong = [change for change in args.set if "=" not in change]
    if wrong:
        raise ClusterError(f"--set {wrong[0]}: write KEY=VALUE, such as `plan.phase=5s`")
    changes = {key: value for key, _, value in (change.partition("=") for change in args.set)}
    if args.silence <= 0:
        raise ClusterError(f"--silence {args.silence}: write a number of seconds above 0")
    runs.run(
        args.file,
        args.out,
        scheduler=args.scheduler,
        local=args.local,
        security=args.security,
        changes=changes,
        resume=args.resume,
        silence_s=args.silence,
    )
    print(f"\nReport over all runs: {Path(args.out) / 'report.html'}")


class _Formatter(argparse.HelpFormatter):
    """Help in the width of the rest of the program."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, max_help_position=26, width=100)


def _replay(args: argparse.Namespace) -> None:
    if not args.words:
        raise ClusterError("write the trace, and flags of `manometer replay`, after `--`")
    status = load.replay(args.words, args.clients, scheduler=args.scheduler, local=args.local, security=args.security)
    if status:
        raise SystemExit(status)


def _trace(args: argparse.Namespace) -> None:
    status = traces.read(
        args.files,
        args.words,
        scratch=args.scratch,
        scheduler=args.scheduler,
        local=args.local,
        security=args.security,
    )
    if status:
        raise SystemExit(status)


def _import(args: argparse.Namespace) -> None:
    archive.import_files(
        args.format,
        args.files,
        args.out,
        scheduler=args.scheduler,
        local=args.local,
        security=args.security,
    )
    print(f"Report over all recordings: {Path(args.out) / 'report.html'}")


def _at(args: argparse.Namespace) -> None:
    raise SystemExit(tunnel.lead_to(args.address, args.security))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="manometer cluster",
        formatter_class=_Formatter,
        description="Run experiments, loads and traces on many machines, by Dask.",
        epilog="Example: manometer cluster run sweep.toml --local 2 --out results/sweep",
    )
    verbs = parser.add_subparsers(required=True, metavar="VERB")

    def verb(name: str, run: Callable[[argparse.Namespace], None], text: str, example: str) -> argparse.ArgumentParser:
        one = verbs.add_parser(
            name,
            help=text,
            formatter_class=_Formatter,
            description=text,
            epilog=f"Example: manometer cluster {example}",
        )
        one.set_defaults(verb=run)
        return one

    init = verb("init", _init, "Make the certificates of a new cluster.", "init certificates")
    init.add_argument("directory", help="their directory")

    example = "scheduler --listen 192.0.2.1:8786 --security certificates"
    scheduler = verb("scheduler", _scheduler, "Run the scheduler of a cluster until it is interrupted.", example)
    scheduler.add_argument("--listen", default=f"127.0.0.1:{service.PORT}", help="the one address that it listens on")
    _add_security(scheduler)

    example = "host --scheduler tls://head:8786 --security certificates --rules host.toml"
    host = verb("host", _host, "Make this machine a host of a cluster until it is interrupted.", example)
    host.add_argument("--scheduler", required=True, metavar="ADDRESS", help="the scheduler's address")
    host.add_argument("--rules", metavar="FILE", help="what experiments may do here (docs/cluster.md)")
    host.add_argument(
        "--device",
        action="append",
        default=[],
        metavar="[NAME=]DIRECTORY",
        help="a device to measure, besides those of the rules; its name by default from its model",
    )
    host.add_argument("--name", help="the host's name in the cluster; by default that of the machine")
    host.add_argument("--listen", metavar="ADDRESS", help="the address that it listens on")
    host.add_argument("--scratch", metavar="DIR", help="where recordings are until they are fetched")
    _add_security(host)

    hosts = verb(
        "hosts", _hosts, "List the hosts of a cluster, and what they have.", "hosts --scheduler tls://head:8786"
    )
    _add_cluster(hosts)
    hosts.add_argument("--format", choices=["text", "json"], default="text", help="the output's format")

    run = verb(
        "run", _run, "Run an experiment on the hosts of a cluster.", "run sweep.toml --local 2 --out results/sweep"
    )
    run.add_argument("file", help="the experiment")
    _add_cluster(run)
    run.add_argument("--out", required=True, help="the directory of all recordings")
    run.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="change a value of the file")
    run.add_argument("--resume", action="store_true", help="continue in --out with the runs that are not complete")
    run.add_argument(
        "--silence",
        type=float,
        default=runs.SILENCE_S,
        metavar="SECONDS",
        help=f"a run that reports nothing for so long hangs, and is ended; by default {runs.SILENCE_S:.0f}",
    )

    example = "replay --scheduler tls://head:8786 --clients 10 -- trace.csv --engine redis --option address=db:6379"
    text = (
        "Replay a trace by many clients on the hosts of a cluster: after `--` its file and flags of `manometer replay`."
    )
    replay = verb("replay", _replay, text, example)
    _add_cluster(replay)
    replay.add_argument("--clients", type=int, required=True, metavar="N", help="the number of clients")

    text = (
        "Characterise a trace in many files, or compute its miss-ratio curves or simulations: after `--` "
        f"{', '.join(f'`{one} {two}`' for one, two in traces.VERBS)}, and its flags."
    )
    example = (
        "trace 's3://traces/day-*.csv.zst' --scheduler tls://head:8786 --scratch s3://scratch -- cache curve --knee"
    )
    trace = verb("trace", _trace, text, example)
    trace.add_argument("files", nargs="+", metavar="FILE", help="the trace's files in order: paths, patterns, URLs")
    _add_cluster(trace)
    trace.add_argument(
        "--scratch",
        metavar="URL",
        help="where the decoded parts are kept, for all hosts; by default a temporary directory with --local",
    )

    text = "Import an archive of results of another tool as recordings, file by file on the hosts."
    example = "import storiks 's3://archive/*.out.xz' --scheduler tls://head:8786 --out slides"
    imports = verb("import", _import, text, example)
    imports.add_argument("format", choices=archive.FORMATS, help="the tool; a file of it is a run")
    imports.add_argument("files", nargs="+", metavar="FILE", help="the files: paths, patterns, URLs")
    _add_cluster(imports)
    imports.add_argument("--out", required=True, metavar="DIR", help="the directory of the recordings; new or empty")

    # For `manometer replay --on`, which adds the word `worker`.
    at = verbs.add_parser("at")
    at.set_defaults(verb=_at)
    at.add_argument("address")
    at.add_argument("what", choices=["worker"])
    _add_security(at)
    return parser


def _add_security(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--security", metavar="DIR", help="the certificates of the cluster: `manometer cluster init`")


def _add_cluster(parser: argparse.ArgumentParser) -> None:
    where = parser.add_mutually_exclusive_group(required=True)
    where.add_argument("--scheduler", metavar="ADDRESS", help="the scheduler's address")
    where.add_argument("--local", type=int, metavar="N", help="instead, so many processes on this machine")
    _add_security(parser)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
