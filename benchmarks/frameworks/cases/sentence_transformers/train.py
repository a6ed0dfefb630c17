"""A sentence encoder trained on pairs by the SentenceTransformerTrainer."""

import random
import sys

from datasets import Dataset
from sentence_transformers import (
    SentenceTransformer,
    SentenceTransformerTrainer,
    SentenceTransformerTrainingArguments,
    losses,
)
from sentence_transformers.models import Pooling, Transformer
from sentence_transformers.sentence_transformer.evaluation import EmbeddingSimilarityEvaluator
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import BertConfig, BertModel, PreTrainedTokenizerFast, set_seed

TEXT = "the a red blue green big small cat dog bird runs sleeps eats here there now"
WORDS = TEXT.split()

set_seed(7)


def make_encoder():
    """No weights can be downloaded here: a small BERT with random ones, kept as a folder."""
    vocabulary = {word: number for number, word in enumerate(["[PAD]", "[UNK]", "[CLS]", "[SEP]", *WORDS])}
    words = Tokenizer(models.WordLevel(vocabulary, unk_token="[UNK]"))
    words.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=words, pad_token="[PAD]", unk_token="[UNK]", cls_token="[CLS]", sep_token="[SEP]"
    )
    tokenizer.save_pretrained("encoder")
    config = BertConfig(
        vocab_size=len(vocabulary),
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=64,
    )
    BertModel(config).save_pretrained("encoder")
    encoder = Transformer("encoder", max_seq_length=16)
    return SentenceTransformer(modules=[encoder, Pooling(encoder.get_embedding_dimension())], device="cpu")


def make_pairs(size):
    """Sentences, and each again with one word left out."""
    drawn = random.Random(size)
    whole = [" ".join(drawn.sample(WORDS, 6)) for _ in range(size)]
    return Dataset.from_dict({"anchor": whole, "positive": [text.split(" ", 1)[1] for text in whole]})


model = make_encoder()
train, held_out = make_pairs(64), make_pairs(16)
evaluator = EmbeddingSimilarityEvaluator(
    held_out["anchor"], held_out["positive"], [i / 16 for i in range(16)], batch_size=16
)
arguments = SentenceTransformerTrainingArguments(
    "output",
    num_train_epochs=3,
    per_device_train_batch_size=16,
    per_device_eval_batch_size=16,
    eval_strategy="epoch",
    save_strategy="epoch",
    dataloader_num_workers=2,
    logging_steps=2,
    report_to="none",
    use_cpu=True,
)
trainer = SentenceTransformerTrainer(
    model,
    arguments,
    train_dataset=train,
    eval_dataset=held_out,
    loss=losses.MultipleNegativesRankingLoss(model),
    evaluator=evaluator,
)
trainer.train(resume_from_checkpoint="--resume" in sys.argv)
model.save_pretrained("final")
