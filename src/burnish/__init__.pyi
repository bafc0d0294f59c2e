from burnish.api.estimators import BurnishClassifier as BurnishClassifier
from burnish.api.estimators import BurnishRegressor as BurnishRegressor
from burnish.api.model import Model as Model
from burnish.api.results import Run as Run
from burnish.api.results import Tuned as Tuned
from burnish.api.verbs import compare as compare
from burnish.api.verbs import evaluate as evaluate
from burnish.api.verbs import load as load
from burnish.api.verbs import new as new
from burnish.api.verbs import plan as plan
from burnish.api.verbs import resume as resume
from burnish.api.verbs import train as train
from burnish.api.verbs import tune as tune
from burnish.errors import BurnishError as BurnishError
from burnish.spec.experiment import Experiment as Experiment

__version__: str
