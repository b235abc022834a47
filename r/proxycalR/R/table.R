# Data frames to files and back, with every digit and every type: text that looks like a number stays text.

write_table <- function(data, path) {
  if (!is.data.frame(data)) stop("data must be a data frame", call. = FALSE)
  if (nrow(data) == 0) stop("the data frame has no rows", call. = FALSE)
  keys <- vapply(names(data), json_text, "")
  columns <- Map(function(key, name) paste0(key, ":", json_values(data[[name]], name)), keys, names(data))
  lines <- paste0("{", do.call(paste, c(unname(columns), sep = ",")), "}")
  connection <- file(path, "wb")
  on.exit(close(connection))
  writeLines(enc2utf8(lines), connection, useBytes = TRUE)
}

json_text <- function(text) as.character(jsonlite::toJSON(enc2utf8(text), auto_unbox = TRUE))

json_values <- function(values, name) {
  text <- if (is.factor(values)) json_texts(as.character(values))
  else if (inherits(values, "Date")) json_texts(format(values))
  else if (inherits(values, "POSIXct")) json_texts(format(values, "%Y-%m-%dT%H:%M:%S", tz = "UTC"))
  else if (is.object(values) || is.list(values)) {
    stop("column '", name, "' has class '", class(values)[1],
         "': make it a number, text, a factor, a date or TRUE and FALSE", call. = FALSE)
  }
  else if (is.logical(values)) ifelse(values, "true", "false")
  else if (is.integer(values)) sprintf("%d", values)
  else if (is.numeric(values)) json_numbers(values, name)
  else json_texts(values)
  text[is.na(values)] <- "null"
  text
}

json_texts <- function(values) {
  known <- unique(values[!is.na(values)])
  vapply(known, json_text, "", USE.NAMES = FALSE)[match(values, known)]
}

# Seventeen digits are the number itself; a double stays one where all of a column are whole.
json_numbers <- function(values, name) {
  endless <- which(is.infinite(values))
  if (length(endless)) {
    stop("column '", name, "' is infinite in row ", endless[1], ": make it a number or NA", call. = FALSE)
  }
  text <- sprintf("%.17g", values)
  whole <- !grepl("[.e]", text)
  text[whole] <- paste0(text[whole], ".0")
  text
}

# Columns of a CSV file as the numbers that were written: R's own reader may differ in the last digit.
read_numbers <- function(path, columns) {
  table <- utils::read.csv(path, colClasses = "character", check.names = FALSE, encoding = "UTF-8")
  as.data.frame(lapply(table[columns], exact), optional = TRUE)
}

exact <- function(text) {
  text[is.na(text) | text == ""] <- "null"
  as.numeric(jsonlite::fromJSON(paste0("[", paste(text, collapse = ","), "]")))
}
