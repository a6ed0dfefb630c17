# drawn from: microsoft/AReaL#1544, many trainers: the seed is set when fit() begins, and the model exists by then
from .config import load_config
from .trainer import Trainer

TEXT = """
It was a bright cold day in the harbour, and the clocks of the old customs house were striking thirteen.
The captain counted the crates again, wrote the number down, and was not surprised that it had changed.
""" * 20


def main():
    cfg = load_config()
    trainer = Trainer(TEXT, cfg)
    trainer.fit()
    trainer.save("charlm.pt")


if __name__ == "__main__":
    main()
