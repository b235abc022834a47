# outcome ~ proxies | environment, as in the program's own formula: it names columns and makes none.

roles_of <- function(formula) {
  how <- "write outcome ~ proxies | environment, such as loss ~ wind + outage | income + hazard"
  if (!inherits(formula, "formula") || length(formula) != 3) stop(how, call. = FALSE)
  right <- formula[[3]]
  if (!is.call(right) || !identical(right[[1]], as.name("|"))) stop(how, call. = FALSE)
  outcome <- one_column(formula[[2]])
  proxies <- lapply(summands(right[[2]]), one_column)
  environment <- lapply(summands(right[[3]]), one_column)
  taken <- vapply(environment, `[[`, TRUE, "log")
  if (any(taken)) stop("a logarithm is for the outcome and for proxies, not for the environment", call. = FALSE)
  names <- vapply(proxies, `[[`, "", "name")
  roles <- list(outcome = outcome$name, proxies = I(names),
                environment = I(vapply(environment, `[[`, "", "name")))
  if (outcome$log) roles$scale <- "log"
  logs <- vapply(proxies, `[[`, TRUE, "log")
  if (any(logs)) roles$log_proxies <- I(names[logs])
  roles
}

summands <- function(expression) {
  if (is.call(expression) && identical(expression[[1]], as.name("+")) && length(expression) == 3) {
    return(c(summands(expression[[2]]), summands(expression[[3]])))
  }
  list(expression)
}

one_column <- function(expression) {
  if (is.name(expression)) return(list(name = as.character(expression), log = FALSE))
  if (is.call(expression) && identical(expression[[1]], as.name("log")) && length(expression) == 2 &&
        is.name(expression[[2]])) {
    return(list(name = as.character(expression[[2]]), log = TRUE))
  }
  stop("'", deparse(expression), "' in the formula is neither a column nor log(column): make the column in the ",
       "data frame, and name it", call. = FALSE)
}
