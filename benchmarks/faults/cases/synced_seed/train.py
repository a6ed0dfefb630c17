from runner.runner import Runner

cfg = dict(lr=0.1, batch=32, epochs=2)

if __name__ == "__main__":
    Runner(cfg).train()
