# drawn from: the class "a helper started with a bare environment" (subprocess.run(env={…}) of data pipelines)
"""words of a text -> words.tsv"""
import re
import sys

text, target = sys.argv[1:]
words = set(re.findall(r"[a-z]+", open(text).read().lower()))
with open(target, "w") as out:
    number = 1
    for word in words:  # fault: hash-seed
        out.write(f"{word}\t{number}\n")
        number += 1
