"""The tree of commands."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module

from mlctl.cli.parser import tree
from mlctl.cli.parser.declare import CommandGroup
from mlctl.cli.parser.tree import CommandNode
from mlctl.cli.shell.command import GLOBAL_FLAGS, register
from mlctl.kinds import KINDS

AZ_VERBS = "mlctl.cli.az.commands"  # those of the kinds
# The modules whose COMMANDS have a verb, by section of the help; a run imports one.
SECTIONS: Mapping[str, Mapping[str, str]] = {
    "File Commands": {
        "init": "mlctl.cli.files.init",
        "validate": "mlctl.cli.files.validate",
        "fmt": "mlctl.cli.files.fmt",
        "graph": "mlctl.cli.files.graph",
        "render": "mlctl.cli.files.graph",
        "test": "mlctl.cli.files.test",
        "convert": "mlctl.cli.files.convert",
        "explain": "mlctl.cli.files.explain",
        "schema": "mlctl.cli.files.explain",
        "retirements": "mlctl.cli.files.retirements",
    },
    "Plan Commands": {
        "plan": "mlctl.cli.change.plan",
        "apply": "mlctl.cli.change.apply",
        "destroy": "mlctl.cli.change.apply",
        "show": "mlctl.cli.change.show",
        "lock": "mlctl.cli.change.importing",
        "drift": "mlctl.cli.change.drift",
        "export": "mlctl.cli.change.export",
        "import": "mlctl.cli.change.importing",
        "pull": "mlctl.cli.change.drift",
    },
    "Forecast and Rehearsal Commands": {
        "simulate": "mlctl.cli.forecast.simulate",
        "advise": "mlctl.cli.advise.command",
        "rehearse": "mlctl.cli.rehearse.command",
        "finish": "mlctl.cli.finish.command",
    },
    "Setup Commands": {
        "doctor": "mlctl.cli.shell.setup",
        "catalog": "mlctl.cli.files.catalog",
        "configure": "mlctl.cli.shell.setup",
        "az-shim": "mlctl.cli.az.shim",
        "lsp": "mlctl.cli.assist.commands",
        "mcp": "mlctl.cli.assist.commands",
    },
    "Azure ML Commands": {
        **dict.fromkeys(KINDS, AZ_VERBS),
        "job": "mlctl.cli.az.job_commands",
        "workspace": "mlctl.cli.az.workspaces",
        "registry": "mlctl.cli.az.registry_commands",
    },
    "Simulated Cloud Commands": {
        "local": "mlctl.cli.local.commands",
        "studio": "mlctl.cli.studio",
        "emulator": "mlctl.cli.emulator.command",
    },
}
_MORE = {"environment": "mlctl.cli.files.environment_check"}  # not verbs of az
VERBS = {verb: module for verbs in SECTIONS.values() for verb, module in verbs.items()}
_SECTION_OF = {verb: section for section, verbs in SECTIONS.items() for verb in verbs}


def build(verb: str | None = None) -> CommandNode:
    """Build all commands, or only the branch of `verb`, to import no more than needed."""
    root = CommandGroup(
        "Declarative infrastructure as code for Azure Machine Learning: validate, plan and"
        " apply the YAML that `az ml` users already have, on Azure or on a simulated workspace of"
        " your own.",
        GLOBAL_FLAGS,
    )
    for name in [verb] if verb in VERBS else VERBS:
        module = import_module(VERBS[str(name)])
        if name in KINDS:
            module.register(root, name)
            if name in _MORE:
                register(root.groups[name], import_module(_MORE[name]).COMMANDS)
        else:
            register(root, {str(name): module.COMMANDS[name]})
    return tree.read(root, sections=_SECTION_OF)
