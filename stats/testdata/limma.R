# Writes limma.json: the expected numbers of the moderated t test and of the adjusted p-values, from R and limma.
# Made with R 4.2.2, limma 3.54.1 and jsonlite (Debian: r-base-core, r-bioc-limma, r-cran-jsonlite):
#
#   Rscript stats/testdata/limma.R > stats/testdata/limma.json
#
# Samples are rounded to six digits before anything is computed, so that both sides see the same numbers.
suppressMessages({library(limma); library(jsonlite)})
set.seed(20040)

# Twelve to forty metrics, n pairs each, variances around a prior with d0 degrees of freedom (Inf: all equal).
make <- function(g, n, d0, shifted) {
  s2 <- if (is.infinite(d0)) rep(0.0016, g) else 0.0016 * d0 / rchisq(g, d0)
  y <- matrix(rnorm(g * n), g, n) * sqrt(s2)
  y[seq_len(shifted), ] <- y[seq_len(shifted), ] + 0.12
  round(y, 6)
}

sets <- list(few = make(12, 6, 4, 2), many = make(40, 6, 8, 5), nine = make(25, 9, 3, 3), equal = make(30, 6, Inf, 4),
             three = make(20, 3, 5, 3))
sets$constant <- sets$few
sets$constant[3, ] <- 0.05   # a metric that did not vary among the runs
sets$missing <- sets$many[1:15, ]
sets$missing[2, 6] <- NA     # five pairs instead of six
sets$missing[9, 4:6] <- NA   # three

one <- function(y) {
  fit <- eBayes(lmFit(y, matrix(1, ncol(y), 1)))
  floors <- rep(c(0, 0.029559, 0.05), length.out = nrow(y))
  beyond <- sapply(seq_len(nrow(y)), function(i) treat(fit, lfc = floors[i])$p.value[i, 1])
  list(values = lapply(seq_len(nrow(y)), function(i) y[i, !is.na(y[i, ])]), floor = floors,
       d0 = if (is.infinite(fit$df.prior)) -1 else fit$df.prior, s02 = fit$s2.prior,
       t = unname(fit$t[, 1]), df = unname(fit$df.total), p = unname(beyond))
}

ps <- list(c(0.01, 0.02, 0.03, 0.04, 0.05), c(0.5), c(1e-9, 0.2, 0.2, 0.9, 1, 0.003), c(0.04, 0.001, NA, 0.03, 0.2),
           round(runif(40)^2, 6))
x <- c(1e-9, 1e-3, 0.01, 0.2, 0.5, 1, 1.644934, 3, 10, 1000, 1e8)
out <- list(sets = lapply(sets, one),
            bh = lapply(ps, function(p) list(p = I(p), adjusted = I(p.adjust(p, "BH")))),
            trigamma_inverse = lapply(x, function(v) c(v, trigammaInverse(v))))
cat(toJSON(out, digits = NA, auto_unbox = TRUE, na = "null"))
