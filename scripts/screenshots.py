"""Take the pictures of the report for the documentation, light and dark, on a wide and a narrow screen.

Run it with `python scripts/screenshots.py [RUN]`; it needs Chromium and its driver. Without a run folder the
run shown is that of `proxycal demo`, with one question put to it.
"""

from __future__ import annotations

import io
import sys
import tempfile
from pathlib import Path

from PIL import Image

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "tests"))

from browser import chromium, missing, use_scheme, use_width  # noqa: E402
from proxycal import ProxyCalibrator, load  # noqa: E402
from proxycal.testing.example import biased_weights  # noqa: E402

# The upper part of the page, by its width: the answer, the idea, the estimators, the picture that convinces.
SIZES = {1280: 1930, 400: 2250}
TARGET = ROOT / "docs" / "img"
# Colours of a page are few: a palette keeps a picture under 150 KB.
COLOURS = 128


def main() -> None:
    """Write the page and photograph it four times."""
    if missing():
        sys.exit(missing())
    model = load(sys.argv[1]) if len(sys.argv) > 1 else asked_demo()
    with tempfile.TemporaryDirectory() as name:
        page = Path(name) / "report.html"
        model.report(page)
        with chromium(Path(name) / "profile") as driver:
            for width, height in SIZES.items():
                for scheme in ("light", "dark"):
                    use_scheme(driver, scheme)
                    use_width(driver, width, height)
                    driver.get(page.as_uri())
                    target = TARGET / f"report-{scheme}-{width}.png"
                    shrunk(driver.get_screenshot_as_png()).save(target, optimize=True)
                    print(f"{target}: {target.stat().st_size / 1024:.0f} KB")


def asked_demo() -> ProxyCalibrator:
    """The demonstration, and what was asked of it."""
    sim = biased_weights(seed=0)
    model = ProxyCalibrator(sim.roles, direction="under").fit(sim.table)
    model.refute("drop-proxy")
    return model


def shrunk(png: bytes) -> Image.Image:
    """The same picture with a palette."""
    return Image.open(io.BytesIO(png)).convert("RGB").quantize(COLOURS, dither=Image.Dither.NONE)


if __name__ == "__main__":
    main()
