import os


def tell(text):
    with open(os.environ["TOLD"], "a") as file:
        file.write(f"{text}\n")
