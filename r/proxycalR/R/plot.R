# Two pictures, in base graphics: the size of the bias by every estimator, and what becomes of the reports.

plot.proxycal <- function(x, which = 1:2, ask = FALSE, ...) {
  before <- grDevices::devAskNewPage(ask)
  on.exit(grDevices::devAskNewPage(before))
  if (1 %in% which) plot_estimates(x, ...)
  if (2 %in% which) plot_reports(x, ...)
  invisible(x)
}

plot_estimates <- function(x, ...) {
  known <- x$estimates[is.finite(x$estimates$alpha), ]
  if (!nrow(known)) {
    graphics::plot.new()
    graphics::title(main = paste("No size of the bias:", x$verdict))
    return(invisible())
  }
  place <- rev(seq_len(nrow(known)))
  ends <- range(0, known$low, known$high, known$alpha, na.rm = TRUE)
  before <- graphics::par(mar = graphics::par("mar") + c(0, 3, 0, 0))
  on.exit(graphics::par(before))
  graphics::plot(known$alpha, place, xlim = ends, ylim = c(0.5, nrow(known) + 0.5), yaxt = "n", pch = 19,
                 xlab = "size of the bias, alpha", ylab = "", main = x$verdict, ...)
  graphics::axis(2, at = place, labels = known$name, las = 1)
  graphics::segments(known$low, place, known$high, place)
  graphics::abline(v = 0, lty = 3)
}

plot_reports <- function(x, ...) {
  answers <- suppressWarnings(predict(x, what = "all"))
  reported <- x$data[[x$outcome]]
  shade <- grDevices::gray(0.85 * (1 - pmin(pmax(answers$p_biased, 0), 1)))
  shade[is.na(answers$p_biased)] <- "white"
  graphics::plot(reported, answers$y_cal, pch = 21, bg = shade, xlab = paste("reported:", x$outcome),
                 ylab = "calibrated", main = "Darker: more likely biased", ...)
  graphics::abline(0, 1, lty = 3)
}
