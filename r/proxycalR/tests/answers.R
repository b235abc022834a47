# Without the program there is nothing to ask; what needs none of it is tested all the same.
library(proxycalR)

says <- function(expression, text) {
  said <- tryCatch({ expression; "" }, error = conditionMessage)
  if (!grepl(text, said, fixed = TRUE)) stop("expected '", text, "', got '", said, "'")
}

d <- data.frame(y = c(1, 2), p = 1:2, e = c("a", NA))
says(proxycal(y ~ p | e, d), "direction is required")
says(proxycal(y ~ p + e, d, direction = "over"), "write outcome ~ proxies | environment")
says(proxycal(y ~ p * e | e, d, direction = "over"), "neither a column nor log(column)")
says(proxycal(y ~ p | log(e), d, direction = "over"), "not for the environment")
says(proxycal(y ~ p | e, d, direction = "over", 3), "settings are named")
says(proxycal(y ~ p | e, d, direction = "over", outcome = "p"), "already in the formula")
says(proxycal(y ~ p | e, transform(d, y = Inf), direction = "over"), "column 'y' is infinite in row 1")
says(proxycal(y ~ p | e, transform(d, y = as.difftime(y, units = "days")), direction = "over"), "has class 'difftime'")

lines <- tempfile()
proxycalR:::write_table(data.frame(a = c(1 / 3, 2, NA), b = c("\"x\"\n", "01", NA), c = factor(c(1, 2, 1)),
                                   d = c(TRUE, NA, FALSE), e = 3:1), lines)
stopifnot(readLines(lines)[1:2] == c(
  "{\"a\":0.33333333333333331,\"b\":\"\\\"x\\\"\\n\",\"c\":\"1\",\"d\":true,\"e\":3}",
  "{\"a\":2.0,\"b\":\"01\",\"c\":\"2\",\"d\":null,\"e\":2}"
))
back <- proxycalR:::exact(c("0.1", "", "1e+300", "0.30000000000000004"))
stopifnot(identical(back, c(0.1, NA, 1e300, 0.1 + 0.2)))
stopifnot(identical(proxycalR:::toml_value(I("a,b")), "[\"a,b\"]"), proxycalR:::toml_value(FALSE) == "false")

if (!proxycal_available()) {
  cat("The program proxycal is not found: its answers are not tested.\n")
} else {
  set.seed(1)
  content <- rnorm(400)
  d <- data.frame(income = rnorm(400), wind = content + 0.1 * rnorm(400), state = rep(c("01", "02"), 200))
  d$loss <- 2 * content + 0.3 * rnorm(400) + 4 * (runif(400) < plogis(2 * d$income))
  fit <- proxycal(loss ~ wind | income + state, d, direction = "over", method = "moments", level = 0.9, seed = 3)
  stopifnot(fit$verdict == "bias found", abs(coef(fit) - 4) < 0.5, nobs(fit) == 400, fit$seed == 3)
  stopifnot(confint(fit)[1] < coef(fit), coef(fit) < confint(fit)[2], colnames(confint(fit))[1] == "5 %")
  says(confint(fit, level = 0.5), "fit again with level = 0.5")
  all <- predict(fit, what = "all")
  stopifnot(identical(predict(fit, d[3:1, ]), all$y_cal[3:1]))
  gap <- d[1:3, ]
  gap$wind[2] <- NA
  says(predict(fit, gap), "column 'wind' holds 1 missing value")
  sums <- totals(fit, by = "state")
  stopifnot(abs(sums$calibrated[3] - sum(all$y_cal)) < 1e-8, sums$state[1] == "01")
  says(proxycal(loss ~ wind | nothing, d, direction = "over"), "nothing")
  printed <- capture.output(print(summary(fit)))
  stopifnot(any(grepl("Verdict: bias found", printed)), any(grepl("moments", printed)))
  if (requireNamespace("mice", quietly = TRUE)) {
    completed <- impute(fit, m = 3, seed = 1)
    stopifnot(inherits(completed, "mids"), completed$m == 3, identical(mice::complete(completed)$wind, d$wind))
    pooled <- summary(mice::pool(with(completed, lm(loss ~ income))))
    stopifnot(all(is.finite(pooled$std.error)))
  }
  pdf(NULL)
  plot(fit)
  invisible(dev.off())
  unlink(fit$run, recursive = TRUE)
  says(predict(fit), "is gone")
}
