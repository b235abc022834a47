# What a fit answers for rows: calibrated values, totals, completed data sets.

.answers <- c("y_cal", "y_cal_low", "y_cal_high", "p_biased", "shift", "mu")

predict.proxycal <- function(object, newdata = NULL, what = c("value", "all"), ...) {
  what <- match.arg(what)
  folder <- answering(object, newdata)
  on.exit(unlink(folder, recursive = TRUE))
  out <- file.path(folder, "calibrated.csv")
  run_program("calibrate", object$run, file.path(folder, "table.jsonl"), "--out", out)
  answers <- read_numbers(out, .answers)
  if (what == "all") answers else answers$y_cal
}

totals <- function(object, ...) UseMethod("totals")

totals.proxycal <- function(object, newdata = NULL, by = NULL, statistic = c("total", "mean"), ...) {
  folder <- answering(object, newdata)
  on.exit(unlink(folder, recursive = TRUE))
  asked <- c("--statistic", match.arg(statistic), if (!is.null(by)) c("--by", by))
  run_program("totals", object$run, file.path(folder, "table.jsonl"), asked)$totals
}

impute <- function(object, ...) UseMethod("impute")

impute.proxycal <- function(object, newdata = NULL, m = 20, include = NULL, seed = NULL, ...) {
  if (!requireNamespace("mice", quietly = TRUE)) {
    stop("completed data sets are for the package mice: install.packages(\"mice\")", call. = FALSE)
  }
  data <- as.data.frame(if (is.null(newdata)) object$data else newdata)
  folder <- answering(object, data)
  on.exit(unlink(folder, recursive = TRUE))
  asked <- c("--m", m, "--format", "csv", if (!is.null(seed)) c("--seed", seed),
             if (length(include)) rbind("--include", include))
  said <- run_program("impute", object$run, file.path(folder, "table.jsonl"), asked,
                      "--out", file.path(folder, "completed"))
  # Nobody has seen the truth: to mice the outcome is a column of gaps, each filled m times.
  complete <- function(number, values) {
    data[[object$outcome]] <- values
    cbind(.imp = number, .id = seq_len(nrow(data)), data)
  }
  drawn <- lapply(said$files, function(file) read_numbers(file, object$outcome)[[1]])
  tables <- Map(complete, 0:m, c(list(rep(NA_real_, nrow(data))), drawn))
  # mice notes columns that it would leave out of models of its own; it makes none here.
  suppressWarnings(mice::as.mids(do.call(rbind, tables)))
}

# A folder with the rows to be answered for.
answering <- function(object, newdata) {
  if (!dir.exists(object$run)) {
    stop("the run folder '", object$run, "' is gone: a fit without out = ends with the session of R that made it; ",
         "fit again, with out = and the name of a folder to keep", call. = FALSE)
  }
  folder <- tempfile("proxycal-")
  dir.create(folder)
  write_table(if (is.null(newdata)) object$data else newdata, file.path(folder, "table.jsonl"))
  folder
}
