"""Language modelling: masked, causal, permutation, replaced tokens, and pre-training with sentence pairs."""

from burnish.tasks.language_modeling.task import CausalLm, MaskedLm, PermutationLm, Pretraining, ReplacedTokens

__all__ = ["CausalLm", "MaskedLm", "PermutationLm", "Pretraining", "ReplacedTokens"]
