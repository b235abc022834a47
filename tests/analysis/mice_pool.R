# Reference numbers of tests/analysis/test_pool.py: mice's own example of pool(), and a logit of its tables.
# Rscript mice_pool.R > mice_pool.csv      (Debian: r-cran-mice)
suppressMessages(library(mice))
say <- function(model, what, table, term, value)
  cat(sprintf("%s,%s,%s,%s,%.15g\n", model, what, table, term, value), sep = "")
example <- function(model, fit) {
  pooled <- pool(fit)
  said <- summary(pooled, conf.int = TRUE)
  for (i in seq_along(fit$analyses)) {
    one <- fit$analyses[[i]]
    say(model, "coef", i, seq_along(coef(one)), coef(one))
    say(model, "vcov", i, seq_along(vcov(one)), as.vector(vcov(one)))
    say(model, "df", i, 1, df.residual(one))
  }
  columns <- c(estimate = "estimate", se = "std.error", df = "df", t = "statistic", p = "p.value",
               low = "2.5 %", high = "97.5 %")
  for (name in names(columns)) say(model, name, 0, seq_len(nrow(said)), said[[columns[[name]]]])
  say(model, "fmi", 0, seq_len(nrow(said)), pooled$pooled$fmi)
}
cat("model,what,table,term,value\n")
imp <- mice(nhanes, m = 5, seed = 123, printFlag = FALSE)
example("ols", with(imp, lm(bmi ~ hyp + chl)))
example("logit", with(imp, glm(I(hyp == 2) ~ age + chl, family = binomial)))
