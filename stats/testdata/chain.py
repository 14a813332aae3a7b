"""Writes chain.json: the expected numbers of the tests of chains of releases, from independent software.

    python3 -m venv env && env/bin/pip install numpy==2.4.6 scipy==1.17.1
    env/bin/python stats/testdata/chain.py > stats/testdata/chain.json

Levels are numpy's least squares on the rows scaled by the square root of their weight; the errors come from the pseudo-inverse. Changes are
found by the definition: forward selection of step functions, with variances moderated as in limma where that makes them larger.
"""
import json, math, random
import numpy as np
from scipy import optimize, special, stats

random.seed(11)
LEVEL, ALPHA = 0.95, 0.05


def values(n, shift, sd):
    return [round(shift + random.gauss(0, sd), 5) for _ in range(n)]


def chain(shifts, n=6, sd=0.03):
    return [{"From": i, "To": i + 1, "Values": values(n, s, sd)} for i, s in enumerate(shifts)]


def star(levels, n=6, sd=0.03):
    return [{"From": 0, "To": i + 1, "Values": values(n, s, sd)} for i, s in enumerate(levels)]


CASES = {
    "equal": (6, chain([0, 0, 0, 0, 0])),
    "one change": (6, chain([0, 0, -0.15, 0, 0])),
    "two changes": (8, chain([0, 0.14, 0, 0, -0.2, 0, 0])),
    "one base": (9, star([0, 0, 0, -0.09, -0.09, -0.09, -0.09, -0.09])),
    "loop": (4, chain([0.02, -0.2, 0.01]) + [{"From": 0, "To": 3, "Values": values(9, -0.17, 0.02)}, {"From": 3, "To": 1, "Values": values(4, 0.18, 0.02)}]),
    "hosts": (6, chain([0, 0], sd=0.01) + [{"From": 2, "To": 3, "Values": values(12, -0.1, 0.05)}, {"From": 3, "To": 4, "Values": values(6, 0, 0.02)}, {"From": 5, "To": 4, "Values": values(3, 0, 0.02)}]),
    "few pairs": (4, chain([0.1], n=2) + [{"From": 1, "To": 2, "Values": values(1, 0.1, 0.01)}, {"From": 2, "To": 3, "Values": values(6, -0.2, 0.01)}]),
}


def satterthwaite(a, v, df):
    use = np.abs(a) > 1e-10
    part = a[use] ** 2 * v[use]
    if np.isnan(part).any():
        return math.nan, math.nan
    return math.sqrt(part.sum()), part.sum() ** 2 / (part ** 2 / df[use]).sum()


def operator(x, w):
    """The matrix that takes the means to the coefficients."""
    root = np.sqrt(w)
    return np.linalg.pinv(x * root[:, None]) * root[None, :]


def prior(var, df):
    if len(var) < 5:
        return None
    var = np.maximum(var, 1e-5 * np.median(var))
    e = np.log(var) - special.digamma(df / 2) + np.log(df / 2)
    spread = e.var(ddof=1) - special.polygamma(1, df / 2).mean()
    if spread <= 0:
        return var.mean(), math.inf
    half = optimize.brentq(lambda y: special.polygamma(1, y) - spread, 1e-6, 1e8, xtol=1e-14, rtol=1e-14)
    return math.exp(e.mean() + special.digamma(half) - math.log(half)), 2 * half


def moderated(var, df):
    p = prior(var, df)
    if p is None:
        return var, df
    s0, d0 = p
    total = df.sum()
    if math.isinf(d0):
        shrunk, d = np.full_like(var, s0), np.full_like(var, total)
    else:
        shrunk, d = (d0 * s0 + df * var) / (d0 + df), np.minimum(d0 + df, total)
    larger = shrunk > var
    return np.where(larger, shrunk, var), np.where(larger, d, df)


def number(x):
    return None if math.isnan(x) else float(x)


def solve(nodes, links):
    n = np.array([len(l["Values"]) for l in links], float)
    mean = np.array([np.mean(l["Values"]) for l in links])
    var = np.array([np.var(l["Values"], ddof=1) if len(l["Values"]) >= 3 else math.nan for l in links])
    df = np.where(n >= 3, n - 1, math.nan)
    x = np.zeros((len(links), nodes))
    for c, l in enumerate(links):
        x[c, l["To"]] += 1
        x[c, l["From"]] -= 1
    a = operator(x[:, 1:], n)
    levels = [{"Estimate": 0.0}]
    for i in range(nodes - 1):
        est = float(a[i] @ mean)
        se, d = satterthwaite(a[i], var / n, df)
        half = math.nan if math.isnan(se) else stats.t.ppf(1 - (1 - LEVEL) / 2, d) * se
        levels.append({"Estimate": est, "SE": number(se), "DF": number(d), "Lo": number(est - half), "Hi": number(est + half)})

    keep = n >= 3
    n, mean, var, df = n[keep], mean[keep], var[keep], df[keep]
    links = [l for l, k in zip(links, keep) if k]
    column = lambda at: np.array([float(l["From"] < at <= l["To"]) - float(l["To"] < at <= l["From"]) for l in links])
    places = [at for at in range(1, nodes) if (np.abs(column(at)) * n).sum() >= 6]
    var, df = moderated(var, df)

    def fit(at):
        cols = np.array([column(k) for k in at]).T
        if np.linalg.matrix_rank(cols) < len(at):
            return None
        out = []
        for k, b in zip(at, operator(cols, n)):
            se, d = satterthwaite(b, var / n, df)
            shift = float(b @ mean)
            half = stats.t.ppf(1 - ALPHA / 2, d) * se
            out.append({"At": k, "Shift": shift, "SE": se, "DF": float(d), "Lo": shift - half, "Hi": shift + half, "P": float(2 * stats.t.sf(abs(shift) / se, d) * len(places))})
        return out

    at, left = [], list(places)
    while left:
        tries = [f[-1] for f in (fit(at + [k]) for k in left) if f]
        best = min(tries, key=lambda c: c["P"], default=None)
        if best is None or best["P"] > ALPHA:
            break
        at.append(best["At"])
        left.remove(best["At"])
        while len(at) > 1:
            worst = max(fit(at), key=lambda c: c["P"])
            if worst["P"] <= ALPHA:
                break
            at.remove(worst["At"])
    changes = fit(sorted(at)) if at else []
    return {"Nodes": nodes, "Levels": levels, "Changes": changes}


out = {}
for name, (nodes, links) in CASES.items():
    out[name] = dict(solve(nodes, links), Links=links)
print("{\n" + ",\n".join(f" {json.dumps(k)}: {json.dumps(v)}" for k, v in out.items()) + "\n}")
