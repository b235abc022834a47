# The program proxycal: found, run, and its words passed on. It answers in JSON.

program <- function() {
  given <- getOption("proxycalR.program", Sys.getenv("PROXYCAL", "proxycal"))
  if (!nzchar(Sys.which(given[1]))) {
    stop("the program '", given[1], "' is not found: install it with `pip install proxycal`, or say where it is ",
         "with options(proxycalR.program = \"/path/to/proxycal\")", call. = FALSE)
  }
  given
}

proxycal_available <- function() !inherits(try(program(), silent = TRUE), "try-error")

# What R put before LD_LIBRARY_PATH for itself may hold another Python's library: the program gets the rest.
library_path <- function() {
  now <- Sys.getenv("LD_LIBRARY_PATH")
  script <- file.path(R.home("etc"), "ldpaths")
  if (now == "" || !file.exists(script)) return(now)
  asked <- paste0("LD_LIBRARY_PATH=; R_HOME=", shQuote(R.home()), "; . ", shQuote(script),
                  "; printf %s \"$LD_LIBRARY_PATH\"")
  added <- system2("sh", c("-c", shQuote(asked)), stdout = TRUE)
  # Once for each R that another one has started.
  while (nzchar(added) && startsWith(now, added)) now <- substring(now, nchar(added) + 2)
  now
}

# Variables of the environment while something runs.
with_variables <- function(values, work) {
  before <- Sys.getenv(names(values), NA, names = TRUE)
  do.call(Sys.setenv, as.list(values))
  on.exit({
    Sys.unsetenv(names(before)[is.na(before)])
    do.call(Sys.setenv, as.list(before[!is.na(before)]))
  })
  work
}

# The answer of a command. Its warnings are R's warnings, its one line of error is R's error.
run_program <- function(...) {
  asked <- program()
  said <- tempfile("proxycal-said-")
  on.exit(unlink(said))
  words <- shQuote(enc2utf8(c(asked[-1], ..., "--quiet", "--json")))
  answer <- with_variables(
    c(PYTHONUTF8 = "1", LD_LIBRARY_PATH = library_path()),
    suppressWarnings(system2(asked[1], words, stdout = TRUE, stderr = said))
  )
  lines <- readLines(said, warn = FALSE, encoding = "UTF-8")
  if (!is.null(attr(answer, "status"))) {
    stop(paste(sub("^error: ", "", lines), collapse = "\n"), call. = FALSE)
  }
  for (line in grep("^warning: ", lines, value = TRUE)) {
    warning(sub("^warning: ", "", line), call. = FALSE)
  }
  Encoding(answer) <- "UTF-8"
  jsonlite::fromJSON(paste(answer, collapse = "\n"))
}
