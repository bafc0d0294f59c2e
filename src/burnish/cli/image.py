"""`burnish package` and `burnish image`: what must travel with a job, as a folder or an image."""

import shlex
from pathlib import Path
from typing import Annotated

from burnish.cli.launch import freight_lines
from burnish.cli.options import Asked, LaunchOption, argument, option
from burnish.cli.verb import Lines, Reply, group, verb
from burnish.cli.wrapping import say

ImageName = Annotated[str, argument("NAME", "The image with its registry and tag, like REGISTRY/TEAM/burnish:1.")]
Tool = Annotated[str | None, option("--tool NAME", "docker, podman or buildah; default: the first that is there.")]


@verb("package", short_help="Write all that must travel with a job.")
def package(
    *,
    out: Annotated[Path, option("--out -o DIR", "The folder to create; it must not exist.")],
    asked: Asked,
    requirements: Annotated[
        Path | None, option("--requirements FILE", "Versions to install; default: those that are installed here.")
    ] = None,
    launch_options: LaunchOption = None,
) -> Reply:
    """Write all that must travel: Burnish, your files, a lock of versions, the plan, a Dockerfile."""
    from burnish.commands.elsewhere.launching import make_job, read_order
    from burnish.launch.image import pack
    from burnish.launch.options import read_launcher, split_words
    from burnish.launch.package import expand, read_requirements

    overrides, ours = split_words(asked.overrides or ())
    launcher = read_launcher(None, [*(launch_options or ()), *ours])
    layers = {"experiment": asked.experiment, "configs": asked.configs or (), "overrides": overrides}
    job = make_job(read_order("train", ["--dir", "outputs/run"], asked=layers), launcher)
    lines = "\n".join(read_requirements(requirements)) + "\n" if requirements else ""
    travelling = expand(job.files, inputs=job.inputs)
    sizes = pack(job, travelling.files, out, max_restarts=launcher.max_restarts, requirements=lines)
    document = {
        "folder": out,
        "files": [*sizes],
        "bytes": sizes,
        "left_behind": {each.path: each.why for each in travelling.left},
    }
    return Reply(document, [f"wrote {out}:", *freight_lines(sizes, travelling.left)])


@verb("build")
def build(
    name: ImageName,
    *,
    base: Annotated[
        str | None, option("--base IMAGE", "What to build on, such as an image with CUDA and torch.")
    ] = None,
    torch_index: Annotated[
        str | None,
        option("--torch-index URL", "Where pip finds torch, such as PyTorch's index of CPU wheels; default: PyPI."),
    ] = None,
    files: Annotated[
        list[str] | None, option("--file FILE", "A file or folder to copy into the image; repeatable.")
    ] = None,
    experiments: Annotated[
        list[str] | None,
        option("--for EXPERIMENT", "An experiment whose extras the image gets, such as `hub`; repeatable."),
    ] = None,
    launch_options: LaunchOption = None,
    tool: Tool = None,
    is_dry_run: Annotated[bool, option("--dry-run", "Print the command; nothing is built.")] = False,
) -> Lines:
    """Build an image of Burnish with your files."""
    from burnish.commands.config import check
    from burnish.launch.image import TOOLS, build_command, find_tool, pack, run_tool
    from burnish.launch.options import read_launcher
    from burnish.launch.package import expand, find_extras
    from burnish.spec.launcher import JobSpec

    travelling = expand([*read_launcher(None, launch_options or ()).files, *(files or ())])
    sizes = {name: path.stat().st_size for name, path in travelling.files.items()}
    for line in freight_lines(sizes, travelling.left):
        say(line)
    extras = find_extras(*(check(each).experiment for each in experiments or ()))
    if is_dry_run:
        command = build_command(
            tool or TOOLS[0], name, Path("CONTEXT"), base=base, torch_index=torch_index, extras=extras
        )
        return [shlex.join(command)]
    chosen = find_tool(tool)
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        context = Path(folder, "context")
        pack(JobSpec("image", (), extras=extras), travelling.files, context)
        run_tool(build_command(chosen, name, context, base=base, torch_index=torch_index, extras=extras))
    return [f"built {name}; `burnish image push {name}` sends it"]


@verb("push")
def push(name: ImageName, *, tool: Tool = None) -> Lines:
    """Send an image to its registry, with the tool's own login."""
    from burnish.launch.image import find_tool, run_tool

    run_tool([find_tool(tool), "push", name])
    return [f"pushed {name}"]


app = group("image", "Build and push images for jobs and serving.", build, push)
