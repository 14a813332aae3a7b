"""Writes trend.json: the expected numbers of the tests of trends, from independent software.

    python3 -m venv env && env/bin/pip install scipy==1.17.1 pymannkendall==1.4.3
    env/bin/python stats/testdata/trend.py > stats/testdata/trend.json

The correction of Hamed and Rao is computed here from their formula with all the autocorrelations that are significant
and positive; where all significant ones are positive, it must be the one of pymannkendall (asserted).
"""
import json, random
import numpy as np
import pymannkendall as mk
from scipy import stats

random.seed(4)


def ar(n, phi, slope, step=1.0, ties=0):
    x, out = 0.0, []
    for i in range(n):
        x = phi * x + random.gauss(0, 1)
        v = 100 + slope * i + x
        out.append(round(v, ties) if ties else round(v, 6))
    return out


SERIES = {
    "white": ar(40, 0.0, 0.0), "up": ar(40, 0.0, 0.1), "down": ar(30, 0.0, -0.2), "ar": ar(60, 0.6, 0.0),
    "ar-up": ar(60, 0.6, 0.05), "strong": ar(80, 0.85, 0.0), "ties": [round(v) for v in ar(50, 0.3, 0.03)], "short": ar(8, 0.0, 0.5),
}
out = {}
for name, v in SERIES.items():
    a, n = np.array(v), len(v)
    o = mk.original_test(a)
    slope, intercept, lo, hi = stats.theilslopes(a, np.arange(n), 0.95)
    rank = stats.rankdata(a - np.arange(n) * slope)
    rank = rank - rank.mean()
    acf = [float((rank[: n - k] * rank[k:]).sum() / (rank * rank).sum()) for k in range(n)]
    bound = stats.norm.ppf(0.975) / np.sqrt(n)
    used = {k: acf[k] for k in range(1, n) if acf[k] > bound}
    factor = 1 + 2 / (n * (n - 1) * (n - 2)) * sum((n - k) * (n - k - 1) * (n - k - 2) * r for k, r in used.items())
    if not any(acf[k] < -bound for k in range(1, n)):
        h = mk.hamed_rao_modification_test(a)
        assert abs(h.var_s - o.var_s * factor) < 1e-6 * h.var_s, (name, h.var_s, o.var_s * factor)
    var = o.var_s * factor
    z = 0 if o.s == 0 else (o.s - np.sign(o.s)) / np.sqrt(var)
    out[name] = {"values": v, "s": float(o.s), "var": float(o.var_s), "p": float(o.p), "slope": float(slope), "lo": float(lo), "hi": float(hi),
                 "factor": float(factor), "corrected_p": float(2 * stats.norm.sf(abs(z)))}
print("{\n" + ",\n".join(f" {json.dumps(k)}: {json.dumps(v)}" for k, v in out.items()) + "\n}")
