"""The same search as `bench.tuning peer`, as a user of Optuna and transformers writes it: threads of one process."""

import csv
import sys
import tempfile

import optuna
import torch
from transformers import AutoModelForSequenceClassification, AutoTokenizer, Trainer, TrainingArguments


class Rows(torch.utils.data.Dataset):
    def __init__(self, texts, labels, tokenizer):
        self.encoded = tokenizer(texts, truncation=True, max_length=24, padding="max_length")
        self.labels = labels

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, at):
        return {**{key: torch.tensor(each[at]) for key, each in self.encoded.items()}, "labels": self.labels[at]}


def main(model, data, trials):
    torch.set_num_threads(1)
    with open(data) as stream:
        rows = list(csv.DictReader(stream))
    tokenizer = AutoTokenizer.from_pretrained(model)
    names = sorted({row["label"] for row in rows})
    whole = [(row["text"], names.index(row["label"])) for row in rows]
    train, held_out = (Rows(*zip(*part, strict=True), tokenizer) for part in (whole[96:], whole[:32]))

    def objective(trial):
        rate = trial.suggest_float("rate", 1e-4, 1e-2, log=True)
        batch = trial.suggest_categorical("batch", [8, 16])
        with tempfile.TemporaryDirectory() as folder:
            options = TrainingArguments(
                folder,
                learning_rate=rate,
                per_device_train_batch_size=batch,
                num_train_epochs=2,
                eval_strategy="epoch",
                save_strategy="epoch",
                report_to=[],
                disable_tqdm=True,
                use_cpu=True,
            )
            network = AutoModelForSequenceClassification.from_pretrained(model, num_labels=len(names))
            trainer = Trainer(network, options, train_dataset=train, eval_dataset=held_out)
            trainer.train()
            return trainer.evaluate()["eval_loss"]

    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
    # Two Trainers in one process reset each other's state of accelerate, so that some trials fail.
    study.optimize(objective, n_trials=trials, n_jobs=2, catch=(Exception,))
    print(sum(each.value is not None for each in study.trials))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
