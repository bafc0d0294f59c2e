"""Language modelling: masked, causal, permutation, replaced tokens, and pre-training with sentence pairs."""

from burnish.tasks.language_modeling.causal import CausalLm
from burnish.tasks.language_modeling.masked import MaskedLm
from burnish.tasks.language_modeling.permutation import PermutationLm
from burnish.tasks.language_modeling.pretraining import Pretraining
from burnish.tasks.language_modeling.replaced_tokens import ReplacedTokens

__all__ = ["CausalLm", "MaskedLm", "PermutationLm", "Pretraining", "ReplacedTokens"]
