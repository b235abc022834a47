// What the page does by itself: send a file, show progress, show and hide the steps. Everything else is the server's.
"use strict";

const by = (id) => document.getElementById(id);
let door = null; // where this page may send files

function complain(text) {
  const place = by("upload-message");
  place.textContent = text;
  place.classList.toggle("shown", text !== "");
}

async function send(file) {
  const input = by("file");
  complain("");
  if (!file || door === null) return;
  if (file.size > Number(input.dataset.limit)) {
    complain(`${file.name}: ${input.dataset.tooLarge}`);
    return;
  }
  by("drop").classList.add("busy");
  by("status").textContent = `Reading ${file.name}`;
  try {
    const reply = await fetch(`${door}?name=${encodeURIComponent(file.name)}`, { method: "POST", body: file });
    const told = await reply.json();
    if (reply.ok) Shiny.setInputValue("uploaded", told.number, { priority: "event" });
    else complain(told.message);
  } catch {
    complain("The file could not be sent: is proxycal still running?");
  } finally {
    by("drop").classList.remove("busy");
    input.value = ""; // the same file can be chosen again after it was changed
  }
}

const messages = {
  door: (path) => { door = path; },
  complain,
  status: (text) => { by("status").textContent = text; },
  show: ({ step, shown }) => {
    document.querySelectorAll(`[data-needs="${step}"]`).forEach((part) => { part.hidden = !shown; });
  },
  progress: ({ share, words, active }) => {
    const began = by("running").hidden && active;
    const focused = document.activeElement;
    by("running").hidden = !active;
    for (const id of ["run", "power", "refute"]) by(id).disabled = active;
    by("bar").value = share;
    by("words").textContent = words;
    // A disabled button loses the keyboard: hand it on, and back.
    if (began && ["run", "power", "refute"].includes(focused?.id)) by("cancel").focus();
    if (!active && focused === by("cancel")) by("run").focus();
  },
  focus: (id) => {
    const place = by(id);
    place.focus({ preventScroll: true });
    place.scrollIntoView();
  },
};

for (const [name, handler] of Object.entries(messages)) Shiny.addCustomMessageHandler(name, handler);

const drop = by("drop");
by("file").addEventListener("change", (event) => send(event.target.files[0]));
for (const name of ["dragenter", "dragover"]) {
  drop.addEventListener(name, (event) => { event.preventDefault(); drop.classList.add("over"); });
}
for (const name of ["dragleave", "drop"]) drop.addEventListener(name, () => drop.classList.remove("over"));
drop.addEventListener("drop", (event) => { event.preventDefault(); send(event.dataTransfer.files[0]); });

document.addEventListener("change", (event) => {
  if (!event.target.matches("select.role")) return;
  const row = event.target.closest("li");
  row.dataset.role = event.target.value;
  row.querySelector(".why").textContent = event.target.selectedOptions[0].dataset.why;
});
document.addEventListener("click", async (event) => {
  const button = event.target.closest("[data-copy]");
  if (button === null) return;
  await navigator.clipboard.writeText(by(button.dataset.copy).textContent);
  button.textContent = "Copied";
});

// The report is as long as it says, on whatever screen: no second scroll bar inside the first.
const askHeight = () => by("report")?.contentWindow.postMessage("height", "*");
document.addEventListener("load", (event) => { if (event.target.id === "report") askHeight(); }, true);
document.addEventListener("toggle", askHeight, true);
addEventListener("resize", askHeight);
addEventListener("message", (event) => {
  const frame = by("report");
  if (frame && event.source === frame.contentWindow && event.data?.height > 0) {
    frame.style.height = `${Math.ceil(event.data.height) + 8}px`;
  }
});
