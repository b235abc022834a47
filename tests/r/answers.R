# The answers of the R package for the table that tests/r/test_proxycalr.py wrote, as JSON with every digit.
place <- commandArgs(trailingOnly = TRUE)
for (file in list.files(place[1], full.names = TRUE)) source(file)
columns <- jsonlite::fromJSON(place[2])
table <- as.data.frame(columns, stringsAsFactors = FALSE)
table$kind <- factor(table$kind)
fit <- proxycal(y ~ p_1 + p_2 | e_1 + kind, table, direction = "over", method = "moments", seed = 4)
all <- predict(fit, what = "all")
completed <- impute(fit, m = 4, seed = 9)
models <- with(completed, lm(y ~ e_1 + w))
pooled <- summary(mice::pool(models))
exactly <- function(x) sprintf("%.17g", x)
answers <- list(
  fit = lapply(fit[c("alpha", "se", "low", "high", "share_biased")], exactly),
  understood = fit$understood,
  rows = lapply(all, exactly),
  sums = lapply(totals(fit, by = "kind")[c("reported", "calibrated", "low", "high")], exactly),
  drawn = lapply(1:4, function(i) exactly(mice::complete(completed, i)$y)),
  pooled = list(estimate = exactly(pooled$estimate), se = exactly(pooled$std.error), df = exactly(pooled$df))
)
writeLines(jsonlite::toJSON(answers, auto_unbox = TRUE), place[3])
