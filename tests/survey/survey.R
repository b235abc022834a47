# Reference numbers of tests/survey/test_estimates.py: R's survey package on its samples of Californian schools.
# Rscript survey.R FOLDER > survey.csv      (Debian: r-cran-survey; FOLDER holds survey_apistrat.csv and others)
suppressMessages(library(survey))
folder <- commandArgs(trailingOnly = TRUE)[1]
load <- function(name) read.csv(file.path(folder, paste0("survey_", name, ".csv")))
say <- function(design, what, group, value) cat(sprintf("%s,%s,%s,%.15g\n", design, what, group, value), sep = "")
one <- function(design, what, made, group = "all") {
  say(design, what, group, as.vector(coef(made)))
  say(design, paste0(what, "_se"), group, as.vector(SE(made)))
}
quantiles <- function(name, design) for (q in c(0.25, 0.5, 0.9)) {
  made <- svyquantile(~api00, design, q)$api00
  say(name, paste0("quantile", q), "all", made[1, 1])
  say(name, paste0("quantile", q, "_se"), "all", made[1, 4])
}
all <- function(name, design) {
  one(name, "total", svytotal(~api00, design))
  one(name, "mean", svymean(~api00, design))
  one(name, "ratio", svyratio(~api.stu, ~api99, design))
  for (type in c("E", "H", "M")) {
    part <- subset(design, stype == type)
    one(name, "total", svytotal(~api00, part), type)
    one(name, "mean", svymean(~api00, part), type)
    say(name, "df", type, degf(part))
  }
  say(name, "df", "all", degf(design))
  quantiles(name, design)
}
cat("design,what,group,value\n")
strat <- load("apistrat"); clus1 <- load("apiclus1"); clus2 <- load("apiclus2")
dstrat <- svydesign(id = ~1, strata = ~stype, weights = ~pw, data = strat, fpc = ~fpc)
all("strat", dstrat)
dclus1 <- svydesign(id = ~dnum, weights = ~pw, data = clus1, fpc = ~fpc)
all("clus1", dclus1)
all("clus2", svydesign(id = ~dnum + snum, weights = ~pw, data = clus2, fpc = ~fpc1 + fpc2))
all("nofpc", svydesign(id = ~dnum, weights = ~pw, data = clus1))
# Replicate weights: jackknives of both kinds, made by the package and by hand in the tests.
all("jkn", as.svrepdesign(svydesign(id = ~1, strata = ~stype, weights = ~pw, data = strat), type = "JKn"))
all("jk1", as.svrepdesign(svydesign(id = ~dnum, weights = ~pw, data = clus1), type = "JK1"))
# Half samples: strata of two clusters, the first 4 rows of each type of school.
few <- do.call(rbind, lapply(split(strat, strat$stype), head, 4))
few$half <- rep(1:2, length.out = nrow(few)); few$n <- 2
brr <- as.svrepdesign(svydesign(id = ~half, strata = ~stype, weights = ~pw, data = few, nest = TRUE), type = "BRR")
one("brr", "total", svytotal(~api00, brr)); one("brr", "mean", svymean(~api00, brr))
w <- weights(brr, "analysis")
for (j in seq_len(ncol(w))) say("brr", paste0("weight", j), seq_len(nrow(w)), w[, j])
say("brr", "api00", seq_len(nrow(few)), few$api00)
say("brr", "pw", seq_len(nrow(few)), few$pw)
