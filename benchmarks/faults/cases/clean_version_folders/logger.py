# drawn from: loggers that count version_0, version_1, … (Lightning's): another folder for each run, and nothing else
import csv
import os


class Logger:
    def __init__(self, root="runs"):
        os.makedirs(root, exist_ok=True)
        number = 0
        while os.path.exists(os.path.join(root, f"version_{number}")):
            number += 1
        self.folder = os.path.join(root, f"version_{number}")
        os.makedirs(self.folder)
        self.file = open(os.path.join(self.folder, "metrics.csv"), "w", newline="")
        self.writer = csv.writer(self.file)
        self.writer.writerow(["step", "loss", "lr"])
        print("logging to", self.folder)

    def log(self, step, loss, lr):
        self.writer.writerow([step, loss, lr])

    def close(self):
        self.file.close()
