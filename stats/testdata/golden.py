"""Writes golden.json: the expected numbers of the tests of package stats, from independent software.

Run in a Python environment of its own (Python 3.11, numpy 2.4, scipy 1.17.1, statsmodels 0.15):

    python3 -m venv env && env/bin/pip install scipy==1.17.1 statsmodels==0.15.0
    env/bin/python stats/testdata/golden.py > stats/testdata/golden.json

The signed-rank interval and the Hodges-Lehmann estimate are enumerated here from their definitions (all 2^n
sign patterns, all Walsh averages), not by the recursion that the package uses.
"""
import itertools, json, math
import numpy as np
from scipy import stats
from statsmodels.stats.multitest import multipletests

SAMPLES = {
    "three": [0.013, -0.021, 0.034],
    "five": [-0.104, -0.109, -0.095, -0.127, -0.097],
    "six-shift": [-0.105, -0.092, -0.118, -0.101, -0.087, -0.110],
    "six-null": [0.0392, -0.0726, 0.0198, -0.1054, 0.0583, -0.0356],
    "six-ties": [0.01, -0.01, 0.02, 0.02, -0.03, 0.01],
    "six-outlier": [0.005, -0.004, 0.002, -0.301, -0.001, 0.004],
    "nine": [0.031, -0.012, 0.008, 0.044, 0.019, -0.003, 0.027, 0.015, 0.038],
    "twelve": [-0.011, 0.024, -0.032, 0.005, -0.041, 0.013, -0.027, -0.008, 0.019, -0.036, -0.022, 0.002],
    "sixteen": [0.12, -0.07, 0.31, 0.05, -0.22, 0.18, 0.09, 0.27, -0.13, 0.02, 0.16, -0.04, 0.21, 0.11, -0.09, 0.06],
    "pp": [0.0, 0.02, -0.01, 0.0, 0.41, 0.0, 0.0, 0.03],
}


def sign_flip(d):
    d = np.array(d)
    obs = abs(d.mean())
    signs = np.array(list(itertools.product([1, -1], repeat=len(d))))
    return float(np.mean(np.abs(signs @ d / len(d)) >= obs - 1e-12))


def rank_interval(d, level):
    n = len(d)
    walsh = sorted((d[i] + d[j]) / 2 for i in range(n) for j in range(i, n))
    w = [sum(r for r, up in zip(range(1, n + 1), s) if up) for s in itertools.product([0, 1], repeat=n)]
    k = 0  # the largest k with P(W < k) <= tail
    while sum(x < k + 1 for x in w) / len(w) <= (1 - level) / 2 + 1e-12:
        k += 1
    hl = float(np.median(walsh))
    if k == 0:
        return {"hl": hl, "lo": None, "hi": None, "exact": None}
    return {"hl": hl, "lo": walsh[k - 1], "hi": walsh[-k], "exact": 1 - 2 * sum(x < k for x in w) / len(w)}


out = {"samples": {}, "quantiles": [], "mde": [], "sign": [], "holm": []}
for name, d in SAMPLES.items():
    a = np.array(d)
    t = stats.ttest_1samp(a, 0)
    ci = {str(l): list(map(float, t.confidence_interval(l))) for l in (0.9, 0.95, 0.9558, 0.9779, 0.99)}
    flip = stats.permutation_test((a,), np.mean, permutation_type="samples", n_resamples=np.inf)
    assert abs(flip.pvalue - sign_flip(d)) < 1e-9, (name, flip.pvalue, sign_flip(d))
    mad = stats.median_abs_deviation(a)
    out["samples"][name] = {
        "values": d, "mean": float(a.mean()), "sd": float(a.std(ddof=1)), "median": float(np.median(a)),
        "t_p": float(t.pvalue), "ci": ci,
        "flip": sign_flip(d), "rank": {str(l): rank_interval(d, l) for l in (0.9, 0.95)},
        "outliers": [i for i, v in enumerate(d) if len(d) >= 6 and abs(v - np.median(a)) > 3.5 * 1.4826 * mad],
    }
for df in (2, 3, 5, 8, 11, 19, 99, 999):
    for p in (0.0001, 0.005, 0.01105, 0.025, 0.05, 0.2, 0.5, 0.8, 0.95, 0.975, 0.98895, 0.999):
        out["quantiles"].append([p, df, float(stats.t.ppf(p, df))])
for n in (3, 6, 9, 12, 20):
    for alpha in (0.05, 0.0221):
        m = (stats.t.ppf(1 - alpha / 2, n - 1) + stats.t.ppf(0.8, n - 1)) * 0.02 / math.sqrt(n)
        out["mde"].append([0.02, n, alpha, float(m)])
for plus, minus in ((0, 0), (1, 0), (3, 0), (5, 1), (6, 0), (0, 9), (10, 2), (6, 6), (40, 25)):
    p = 1.0 if plus + minus == 0 else float(stats.binomtest(plus, plus + minus).pvalue)
    out["sign"].append([plus, minus, p])
for ps in ([0.01, 0.04, 0.03, 0.005], [0.2], [0.5, 0.5, 0.5], [0.0001, 0.011, 0.012, 0.8, 0.02], [0.03, 0.9, 0.9, 0.9, 0.9]):
    out["holm"].append({"p": ps, "adjusted": [float(x) for x in multipletests(ps, method="holm")[1]]})
# One line per sample and per table, so that a change shows as a line.
samples = ",\n".join(f"  {json.dumps(k)}: {json.dumps(v)}" for k, v in out.pop("samples").items())
tables = ",\n".join(f" {json.dumps(k)}: {json.dumps(v)}" for k, v in out.items())
print('{"samples": {\n' + samples + "\n },\n" + tables + "\n}")
