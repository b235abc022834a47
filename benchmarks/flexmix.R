# The same model in R's flexmix: two components that share slopes and variance and differ in their intercepts,
# with a multinomial gate, started from a split of the residuals. Prints CPU seconds and alpha.
args <- commandArgs(trailingOnly = TRUE)
suppressMessages(library(flexmix))
d <- read.csv(args[1])
content <- as.formula(paste("~", paste(setdiff(names(d), "y"), collapse = " + ")))
gate <- as.formula(paste("~", paste(grep("^e_", names(d), value = TRUE), collapse = " + ")))
begin <- proc.time()
start <- 1L + as.integer(residuals(lm(y ~ ., data = d)) > 0)
fit <- flexmix(y ~ 1, data = d, k = 2, cluster = start, concomitant = FLXPmultinom(gate),
               model = FLXMRglmfix(fixed = content, varFix = TRUE))
used <- proc.time() - begin
intercepts <- parameters(fit)[grep("Intercept", rownames(parameters(fit))), ]
cat(sum(used[c("user.self", "sys.self")]), abs(diff(range(intercepts))), "\n")
