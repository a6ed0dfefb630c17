RULES = {
    "animal": "cat dog horse bird fish sheep",
    "food": "bread cheese apple soup rice plum",
    "tool": "hammer saw drill knife rope nail",
}


def sentences():
    out = []
    for label, (_, words) in enumerate(RULES.items()):
        words = words.split()
        for i in range(30):
            out.append((f"the {words[i % 6]} and the {words[(i * 5 + 1) % 6]} of {'old' if i % 2 else 'new'} {words[i // 5]}", label))
    return out
