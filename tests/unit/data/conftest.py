"""Small word-level tokenizers that wrap texts as the well-known families do, for every test of this folder."""

import sys
from types import ModuleType

import pytest
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import WhitespaceSplit
from tokenizers.processors import BertProcessing, RobertaProcessing, TemplateProcessing

from burnish.data.tokens.tokens import TextAssets

SPECIAL = ("[PAD]", "[CLS]", "[SEP]", "[UNK]")
PAD, CLS, SEP, UNK = range(4)
FIRST_WORD = 10


def words(*numbers: int) -> str:
    """Write numbers as a text; number n gets the id FIRST_WORD + n."""
    return " ".join(f"w{number}" for number in numbers)


def plain(num_words: int = 200) -> Tokenizer:
    vocabulary = {token: number for number, token in enumerate(SPECIAL)}
    vocabulary |= {f"w{number}": FIRST_WORD + number for number in range(num_words)}
    tokenizer = Tokenizer(WordLevel(vocabulary, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = WhitespaceSplit()
    return tokenizer


def bert() -> Tokenizer:
    tokenizer = plain()
    tokenizer.post_processor = BertProcessing(("[SEP]", SEP), ("[CLS]", CLS))
    return tokenizer


def roberta() -> Tokenizer:
    tokenizer = plain()
    tokenizer.post_processor = RobertaProcessing(("[SEP]", SEP), ("[CLS]", CLS))
    return tokenizer


def xlnet() -> Tokenizer:
    tokenizer = plain()
    tokenizer.post_processor = TemplateProcessing(
        single="$A:0 [SEP]:0 [CLS]:2",
        pair="$A:0 [SEP]:0 $B:1 [SEP]:1 [CLS]:2",
        special_tokens=[("[SEP]", SEP), ("[CLS]", CLS)],
    )
    return tokenizer


def t5() -> Tokenizer:
    tokenizer = plain()
    tokenizer.post_processor = TemplateProcessing(
        single="$A [SEP]", pair="$A [SEP] $B [SEP]", special_tokens=[("[SEP]", SEP)]
    )
    return tokenizer


def assets(tokenizer: Tokenizer | None = None, **options) -> TextAssets:
    tokenizer = tokenizer or bert()
    settings = {
        "pad_id": PAD,
        "pad_type_id": 0,
        "padding_side": "right",
        "max_positions": 512,
        "uses_segments": True,
        "files": {"tokenizer.json": tokenizer.to_str().encode()},
    }
    return TextAssets(tokenizer=tokenizer, **(settings | options))


@pytest.fixture(scope="session")
def toy() -> ModuleType:
    """Give the tokenizers above by name: `toy.bert()`."""
    return sys.modules[__name__]
