import torch


def blobs(n, dim=20, classes=5):
    g = torch.Generator().manual_seed(12)
    centres = torch.randn(classes, dim, generator=g) * 2
    y = torch.arange(n) % classes
    return centres[y] + torch.randn(n, dim, generator=g), y


def two_views(x):
    def view():
        keep = (torch.rand_like(x) > 0.2).float()
        return x * keep + 0.1 * torch.randn_like(x)

    return view(), view()
