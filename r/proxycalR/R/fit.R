# The fit: a run folder, and what the program said of it.

proxycal <- function(formula, data, direction, ..., out = NULL) {
  if (missing(direction)) {
    stop("direction is required: \"over\" where reports may be too high, \"under\" where they may be too low",
         call. = FALSE)
  }
  roles <- roles_of(formula)
  settings <- c(roles, list(direction = direction), settings_of(list(...), names(roles)))
  folder <- tempfile("proxycal-")
  dir.create(folder)
  run <- if (is.null(out)) file.path(folder, "run") else out
  table <- file.path(folder, "table.jsonl")
  on.exit(unlink(table))
  write_table(data, table)
  lines <- paste(names(settings), "=", vapply(settings, toml_value, ""))
  writeLines(enc2utf8(lines), file.path(folder, "run.toml"), useBytes = TRUE)
  said <- run_program("fit", table, "--config", file.path(folder, "run.toml"), "--out", run)
  # The program's own formula names every role as it was understood; R's is what was typed.
  said$understood <- said$formula
  said$formula <- formula
  said$run <- normalizePath(run)
  structure(c(said, list(outcome = roles$outcome, data = data, call = match.call())), class = "proxycal")
}

settings_of <- function(given, taken) {
  if (length(given) && (is.null(names(given)) || any(names(given) == ""))) {
    stop("settings are named, such as method = \"moments\"", call. = FALSE)
  }
  twice <- intersect(names(given), taken)
  if (length(twice)) stop("'", twice[1], "' is already in the formula", call. = FALSE)
  Filter(Negate(is.null), given)
}

toml_value <- function(value) {
  if (inherits(value, "AsIs") || length(value) > 1) {
    return(paste0("[", paste(vapply(unclass(value), json_text, ""), collapse = ", "), "]"))
  }
  if (is.logical(value)) return(if (value) "true" else "false")
  if (is.numeric(value)) return(if (value == round(value)) sprintf("%.0f", value) else sprintf("%.17g", value))
  json_text(value)
}

print.proxycal <- function(x, digits = max(3L, getOption("digits") - 3L), ...) {
  cat("Call: ", paste(deparse(x$call), collapse = "\n"), "\n\n", sep = "")
  cat("Verdict: ", x$verdict, "\n", sep = "")
  cat(sprintf("alpha %s (%s%% interval %s to %s), %s%% of %d rows biased\n", format(x$alpha, digits = digits),
              format(100 * x$level), format(x$low, digits = digits), format(x$high, digits = digits),
              format(100 * x$share_biased, digits = 3), x$rows))
  invisible(x)
}

summary.proxycal <- function(object, ...) {
  open <- object$findings[!object$findings$ok, c("question", "reading", "remedy"), drop = FALSE]
  structure(list(fit = object, estimates = object$estimates, findings = open), class = "summary.proxycal")
}

print.summary.proxycal <- function(x, ...) {
  print(x$fit, ...)
  cat("\nEstimators:\n")
  print(x$estimates[c("name", "alpha", "se", "low", "high")], row.names = FALSE, ...)
  noted <- x$estimates[nzchar(x$estimates$note), ]
  cat(sprintf("  %s: %s\n", noted$name, noted$note), sep = "")
  if (nrow(x$findings)) cat("\nTo look at:\n")
  for (i in seq_len(nrow(x$findings))) {
    text <- paste0(x$findings$question[i], " ", x$findings$reading[i],
                   if (nzchar(x$findings$remedy[i])) paste(" To do:", x$findings$remedy[i]))
    cat(strwrap(text, prefix = "  ", initial = "- "), sep = "\n")
  }
  invisible(x)
}

coef.proxycal <- function(object, ...) c(alpha = object$alpha)

confint.proxycal <- function(object, parm, level = object$level, ...) {
  if (!isTRUE(all.equal(level, object$level))) {
    stop("the fit has intervals of level ", object$level, ": fit again with level = ", level, call. = FALSE)
  }
  ends <- 100 * c((1 - level) / 2, (1 + level) / 2)
  matrix(c(object$low, object$high), 1, dimnames = list("alpha", paste(format(ends, trim = TRUE), "%")))
}

nobs.proxycal <- function(object, ...) object$rows

formula.proxycal <- function(x, ...) x$formula
