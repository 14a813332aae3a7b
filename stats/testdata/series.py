"""Writes series.json: the expected numbers of the tests of warm-up cut, batch means, autocorrelation time, effective
counts and block bootstrap, by definitions spelled out in numpy (and scipy where it has them).

    python3 -m venv env && env/bin/pip install scipy==1.15.3 numpy==2.4.6
    env/bin/python stats/testdata/series.py > stats/testdata/series.json

Nothing here is written as the package writes it: sums over slices instead of recursions, merged arrays of operations
instead of tables of counts.
"""
import json, math
import numpy as np
from scipy import signal

rng = np.random.default_rng(1997)


def ar1(n, rho, sd=1.0):
    e = rng.normal(size=n) * sd * math.sqrt(1 - rho * rho)
    x = signal.lfilter([1], [1, -rho], e, zi=[rho * rng.normal() * sd])[0]
    return np.round(x, 6)


def mser5(x):
    m = len(x) // 5
    y = x[: 5 * m].reshape(m, 5).mean(axis=1)
    z = [np.sum((y[d:] - y[d:].mean()) ** 2) / (m - d) ** 2 for d in range(m - max(5, m // 3) + 1)]
    d = int(np.argmin(z))
    return 5 * d


def tau(x):
    d = x - x.mean()
    r = np.correlate(d, d, "full")[len(d) - 1 :]
    r = r / r[0]
    for m in range(1, len(d)):
        t = 1 + 2 * r[1 : m + 1].sum()
        if m >= 5 * max(t, 1) / 2:
            break
    return float(max(t, 1))


series = {
    "white": ar1(120, 0.0),
    "ar 0.6": ar1(180, 0.6),
    "ar 0.9": ar1(400, 0.9),
    "negative": ar1(150, -0.5),
    "warm-up": ar1(180, 0.3) + np.round(8 * np.exp(-np.arange(180) / 12), 6),
    "ramp": ar1(183, 0.2) + np.arange(183) * 0.1,
    "step late": ar1(100, 0.0) + np.where(np.arange(100) < 70, 6.0, 0.0),
    "fifty": ar1(52, 0.0),
}
out = {"series": {}, "effective": [], "quantiles": []}
for name, x in series.items():
    x = np.round(x, 6)
    cut = mser5(x)
    k = 20
    rest = x[len(x) - len(x) // k * k :] if len(x) >= 2 * k else None
    means = rest.reshape(k, -1).mean(axis=1) if rest is not None else None
    out["series"][name] = {
        "values": x.tolist(), "cut": cut, "tau": tau(x),
        "batches": means.tolist(),
    }

# Exceedances by interval, from operations one by one that depend on their neighbors.
for rho, n, per in ((0.0, 60, 200), (0.9, 60, 200), (0.7, 200, 37)):
    x = ar1(n * per, rho)
    over = x > np.quantile(x, 0.95)
    hit = over.reshape(n, per).sum(axis=1)
    e = hit - over.mean() * per
    deff = max(1.0, float((e**2).sum() * tau(e) / (over.size * over.mean() * (1 - over.mean()))))
    # The same from the indicators themselves, to be near.
    direct = over.size / tau(over.astype(float))
    out["effective"].append({"hit": hit.tolist(), "per": per, "effective": over.size / deff, "direct": direct})

# Quantiles of merged intervals: the smallest value with a share of at least p at or below it.
for n, per in ((8, 25), (12, 400)):
    intervals = [np.sort(np.round(np.exp(rng.normal(size=per) * 0.5 + 4))) for _ in range(n)]
    merged = np.sort(np.concatenate(intervals))
    probs = [0.01, 0.1, 0.5, 0.9, 0.95, 0.99, 0.999]
    q = [float(np.quantile(merged, p, method="inverted_cdf")) for p in probs]
    out["quantiles"].append({"intervals": [list(map(float, i)) for i in intervals], "p": probs, "q": q})
print(json.dumps(out))
