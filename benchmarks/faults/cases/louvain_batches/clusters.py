# drawn from: networkx functions with seed=None, which draw from Python's global generator (networkx/networkx#4267 and its like)
import networkx as nx
import torch


def make_graph(n=400):
    """A noisy ring with labels by quarter."""
    graph = nx.Graph()
    graph.add_nodes_from(range(n))
    for i in range(n):
        for k in (1, 2, 7):
            graph.add_edge(i, (i + k) % n)
        graph.add_edge(i, (i * i + 3) % n)
    return graph, torch.arange(n) * 4 // n


def partition(graph, resolution=3.0):
    """Cluster-GCN: each batch is a community."""
    found = nx.community.louvain_communities(graph, resolution=resolution)  # fault: python-random
    return [torch.tensor(sorted(c)) for c in found if len(c) > 4]
