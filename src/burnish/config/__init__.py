"""From layers of YAML to a checked experiment that knows where each value came from, and back."""

from burnish.config.given import Given, from_values
from burnish.config.locate import ExperimentListing, Located, experiments, layers, locate
from burnish.config.origins import DEFAULT, Origin
from burnish.config.render import OptionDifference, diff, fingerprint, render
from burnish.config.resolve import LoadedSection, Resolved, Unsound, load, load_section, trust
from burnish.config.schema import schema

__all__ = [
    "DEFAULT",
    "ExperimentListing",
    "Given",
    "LoadedSection",
    "Located",
    "OptionDifference",
    "Origin",
    "Resolved",
    "Unsound",
    "diff",
    "experiments",
    "fingerprint",
    "from_values",
    "layers",
    "load",
    "load_section",
    "locate",
    "render",
    "schema",
    "trust",
]
