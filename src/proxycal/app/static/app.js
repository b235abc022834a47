// What the page does by itself: send a file, show progress, show and hide the steps. Everything else is the server's.
"use strict";

const by = (id) => document.getElementById(id);
let door = null; // where this page may send files

function complain(text, where = "upload-message") {
  const place = by(where);
  if (place === null) return;
  place.textContent = text;
  place.classList.toggle("shown", text !== "");
}

// target: the table ("uploaded"), or the sheet of an audit ("filled").
async function send(file, target = "uploaded") {
  const input = by("file");
  const where = target === "filled" ? "audit-message" : "upload-message";
  complain("", where);
  if (!file || door === null) return;
  if (file.size > Number(input.dataset.limit)) {
    complain(`${file.name}: ${input.dataset.tooLarge}`, where);
    return;
  }
  by("drop").classList.add("busy");
  by("status").textContent = `Reading ${file.name}`;
  try {
    const reply = await fetch(`${door}?name=${encodeURIComponent(file.name)}`, { method: "POST", body: file });
    const told = await reply.json();
    if (reply.ok) Shiny.setInputValue(target, told.number, { priority: "event" });
    else complain(told.message, where);
  } catch {
    complain("The file could not be sent: is proxycal still running?", where);
  } finally {
    by("drop").classList.remove("busy");
    input.value = ""; // the same file can be chosen again after it was changed
    if (by("filled")) by("filled").value = "";
  }
}

const messages = {
  door: (path) => { door = path; },
  complain: (text) => complain(text),
  complain_audit: (text) => complain(text, "audit-message"),
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

// The questions and the roles of all columns are two views of one choice; the server reads the roles.
const roleSelects = () => [...document.querySelectorAll("select.role")];

function setRole(select, role) {
  if (select === null || select.value === role) return;
  select.value = role;
  select.dispatchEvent(new Event("change", { bubbles: true }));
}

function mirrorRoles() {
  for (const ask of document.querySelectorAll("select.ask")) {
    ask.value = roleSelects().find((one) => one.value === ask.dataset.role)?.id ?? "";
  }
  for (const ask of document.querySelectorAll("input.ask")) {
    const role = by(ask.value)?.value;
    ask.checked = role === ask.dataset.role;
  }
}

function answered(ask) {
  const role = ask.dataset.role;
  if (ask.type === "checkbox") {
    setRole(by(ask.value), ask.checked ? role : "");
    return;
  }
  const chosen = ask.value;
  roleSelects().filter((one) => one.value === role && one.id !== chosen).forEach((one) => setRole(one, ""));
  if (chosen !== "") setRole(by(chosen), role);
}

document.addEventListener("change", (event) => {
  const target = event.target;
  if (target.matches(".ask")) {
    answered(target);
    mirrorRoles();
  } else if (target.matches("select.role")) {
    const row = target.closest("li");
    row.dataset.role = target.value;
    row.querySelector(".why").textContent = target.selectedOptions[0].dataset.why;
    mirrorRoles();
  } else if (target.matches(".reread")) {
    Shiny.setInputValue("reread", JSON.stringify({ [target.dataset.name]: target.value }), { priority: "event" });
  } else if (target.matches("#filled")) {
    send(target.files[0], "filled");
  } else if (target.matches("#scale input")) {
    // A bias that is a share goes with the logarithm of proxies that are sizes.
    for (const box of document.querySelectorAll("#log_proxies input")) {
      if (box.checked !== (target.value === "log")) box.click();
    }
  }
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
