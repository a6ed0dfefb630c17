# drawn from: polars' group_by gives its groups in any order unless maintain_order=True (pola-rs/polars#3136 and its like)
import polars as pl


def click_log(n=4000):
    i = pl.int_range(0, n, eager=True)
    return pl.DataFrame({"user": (i * 7919) % 600, "item": (i * i + 3 * i) % 97, "dwell": ((i * 37) % 101) / 100.0})


def sessions(log: pl.DataFrame) -> pl.DataFrame:
    """One row for each user: how much, how long, how varied."""
    return (
        log.group_by("user")  # fault: thread-scheduling
        .agg(clicks=pl.len(), dwell=pl.col("dwell").mean(), items=pl.col("item").n_unique(), top=pl.col("item").max())
        .with_columns(churn=(pl.col("user") % 3 == 0).cast(pl.Int64))
    )
