// Values under the pointer, and the table of rows. Without it the page shows the same numbers.
(() => {
  const bubble = document.createElement("div");
  bubble.className = "bubble";
  bubble.hidden = true;
  document.body.append(bubble);

  const listed = document.getElementById("row-data");
  const rows = listed ? JSON.parse(listed.textContent) : null;
  const shown = (value) => {
    if (value === null) return "n/a";
    if (Math.abs(value) >= 1000) return value.toLocaleString("en", { maximumFractionDigits: 0 });
    return String(Number(value.toPrecision(4)));
  };
  const between = (low, high) => {
    if (low === null) return "n/a";
    const places = Math.max(...[shown(low), shown(high)].map((text) => (text.split(".")[1] ?? "").length));
    const fixed = { minimumFractionDigits: places, maximumFractionDigits: places };
    return `${low.toLocaleString("en", fixed)} to ${high.toLocaleString("en", fixed)}`;
  };
  const share = (value) => value > 0 && value < 0.0005 ? "<0.1%" : value > 0.9995 && value < 1 ? ">99.9%" : `${(100 * value).toFixed(value > 0 && value < 0.01 || value > 0.99 && value < 1 ? 1 : 0)}%`;

  const say = (text, event) => {
    bubble.textContent = text;
    bubble.hidden = false;
    const box = bubble.getBoundingClientRect();
    const left = Math.min(Math.max(8, event.clientX - box.width / 2), innerWidth - box.width - 8);
    const above = event.clientY - box.height - 14;
    bubble.style.left = `${left}px`;
    bubble.style.top = `${above > 4 ? above : event.clientY + 18}px`;
  };

  // Dots are one picture, so that a page of thousands of rows stays light: the nearest one is looked for.
  const dots = new Map();
  const nearest = (svg, event) => {
    if (!dots.has(svg)) dots.set(svg, svg.dataset.dots.split(" ").map(Number));
    const at = dots.get(svg);
    const box = svg.getBoundingClientRect();
    const scale = svg.viewBox.baseVal.width / box.width;
    const x = (event.clientX - box.left) * scale;
    const y = (event.clientY - box.top) * scale;
    let best = -1;
    let least = (12 * scale) ** 2;
    for (let i = 0; i < at.length; i += 2) {
      const far = (at[i] - x) ** 2 + (at[i + 1] - y) ** 2;
      if (far < least) [best, least] = [i / 2, far];
    }
    return best;
  };
  const about = (dot) => {
    const row = rows.data[rows.dots[dot]];
    const name = rows.heading ? `${rows.heading} ${row[0]}: ` : "";
    const then = rows.calibrated ? `, calibrated ${shown(row[2])}, probability of bias ${share(row[5])}` : "";
    return `${name}reported ${shown(row[1])}${then}`;
  };
  const point = (event) => {
    const said = event.target.closest("[data-tip]");
    const svg = event.target.closest("svg[data-dots]");
    const dot = svg && rows ? nearest(svg, event) : -1;
    const text = said ? said.dataset.tip : dot >= 0 ? about(dot) : null;
    if (text) say(text, event);
    else bubble.hidden = true;
  };
  document.addEventListener("pointermove", point);
  document.addEventListener("pointerdown", point);
  document.addEventListener("scroll", () => { bubble.hidden = true; }, { passive: true });
  document.addEventListener("keydown", (event) => { if (event.key === "Escape") bubble.hidden = true; });

  // Within another page: how long this one is, when that changes or is asked for. A browser does not look for
  // changes in a frame that is out of sight.
  if (parent !== window) {
    const page = document.documentElement;
    const tell = () => parent.postMessage({ height: page.getBoundingClientRect().height }, "*");
    new ResizeObserver(tell).observe(page);
    addEventListener("message", (event) => { if (event.source === parent) tell(); });
  }

  const table = document.getElementById("row-table");
  if (!table || !rows) return;
  const body = table.tBodies[0];
  const tools = document.getElementById("row-tools");
  const words = document.getElementById("row-words");
  const least = document.getElementById("row-least");
  const count = document.getElementById("row-count");
  const more = document.getElementById("row-more");
  const first = rows.heading ? 0 : 1;
  let room = 10;
  let by = null;
  let down = true;

  const value = (row, column) => (column === 3 ? row[3] : column === 4 ? row[5] : row[column]);
  const cell = (text, number) => {
    const made = document.createElement("td");
    made.textContent = text;
    if (number) made.className = "num";
    return made;
  };
  const draw = () => {
    const wanted = words.value.trim().toLowerCase();
    const from = Number(least.value);
    const kept = rows.data.filter((row) => row[5] >= from && (!wanted || row[0].toLowerCase().includes(wanted)));
    if (by !== null) {
      const numeric = by > 0 || kept.every((row) => row[0] !== "" && !Number.isNaN(Number(row[0])));
      const key = (row) => (numeric ? Number(value(row, by) ?? -Infinity) : value(row, by));
      kept.sort((a, b) => (key(a) < key(b) ? -1 : key(a) > key(b) ? 1 : 0) * (down ? -1 : 1));
    }
    body.replaceChildren(...kept.slice(0, room).map((row) => {
      const line = document.createElement("tr");
      const cells = [row[0], shown(row[1]), shown(row[2]), between(row[3], row[4]), share(row[5])];
      line.append(...cells.slice(first).map((text, i) => cell(text, i + first > 0)));
      return line;
    }));
    count.textContent = `${Math.min(room, kept.length).toLocaleString("en")} of ${kept.length.toLocaleString("en")} rows`;
    more.hidden = kept.length <= room;
  };
  table.querySelectorAll("thead th").forEach((head, i) => {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = head.textContent;
    head.replaceChildren(button);
    button.addEventListener("click", () => {
      down = by === i + first ? !down : i + first > 0;
      by = i + first;
      table.querySelectorAll("thead th").forEach((other) => other.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      draw();
    });
  });
  words.addEventListener("input", draw);
  least.addEventListener("change", draw);
  more.addEventListener("click", () => { room += 50; draw(); });
  tools.hidden = false;
  draw();
})();
