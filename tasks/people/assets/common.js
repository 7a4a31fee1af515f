"use strict";
/* Shared by all forms. Everything from DATA reaches the page through text nodes and values, never through markup. */
const DATA = JSON.parse(document.getElementById("data").textContent);
const KEY = ["vignette", DATA.format, DATA.form, DATA.rater].join("/");
const PRACTICE = DATA.items.filter((it) => it.practice).length;  // they come first and are not counted
const COUNTED = DATA.items.length - PRACTICE;
let state = null;
let storage = true;

function el(tag, props, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(props || {})) {
    if (name === "class") node.className = value;
    else if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (name in node && name !== "list") node[name] = value;
    else node.setAttribute(name, value);
  }
  node.append(...children.filter((child) => child !== null && child !== undefined));
  return node;
}

/* A text as it was written; lines that are a **heading** are shown bold. */
function textBody(text) {
  const body = el("div", { tabIndex: 0 });
  let plain = [];
  const flush = () => { if (plain.length) body.append(plain.join("\n").replace(/^\n+|\n+$/g, "")); plain = []; };
  for (const line of text.split("\n")) {
    const heading = line.match(/^\s*\*\*(.+?)\*\*:?\s*$/);
    if (heading) { flush(); body.append(el("strong", {}, heading[1])); } else plain.push(line);
  }
  flush();
  return body;
}

function sheet(title, text, extra) {
  return el("section", { class: "sheet " + (extra || ""), "aria-label": title }, el("h2", {}, title), textBody(text));
}

function restore(fresh) {
  let kept = null;
  try { kept = localStorage.getItem(KEY); } catch { storage = false; }
  state = fresh;
  if (kept) { try { adopt(JSON.parse(kept)); } catch { /* not ours: begin afresh */ } }
}

function adopt(saved) {
  state.at = Math.min(Math.max(saved.at || 0, 0), DATA.items.length - 1);
  state.signature = saved.signature || "";
  for (const [id, entry] of Object.entries(saved.entries || {})) if (id in state.entries && wellFormed(id, entry)) state.entries[id] = entry;
}

function save() {
  try { localStorage.setItem(KEY, JSON.stringify(state)); storage = true; } catch { storage = false; }
  showSaved();
}

function showSaved() {
  const node = document.getElementById("saved");
  node.textContent = storage ? "✓ Saved here" : "Not saved: download a backup";
  node.classList.toggle("off", !storage);
}

/* The number of an item in the strip: practice items are P1, P2, ... */
function numberOf(i) {
  return i < PRACTICE ? "P" + (i + 1) : String(i + 1 - PRACTICE);
}

function header(title, buttons) {
  return el("header", {},
    el("h1", {}, title), el("span", { class: "who" }, DATA.rater),
    el("div", { class: "progress" }, el("progress", { id: "bar", max: COUNTED, value: 0, "aria-label": "Progress" }), el("span", { id: "count" })),
    el("span", { id: "saved", class: "saved", role: "status" }), ...buttons);
}

function showProgress(statusOf) {
  const statuses = DATA.items.map(statusOf);
  const done = statuses.slice(PRACTICE).filter((status) => status === "done" || status === "removed").length;
  document.getElementById("bar").value = done;
  document.getElementById("count").textContent = done + " of " + COUNTED + " done";
  const strip = document.getElementById("strip");
  strip.replaceChildren(...statuses.map((status, i) => el("button", {
    class: status, title: (i < PRACTICE ? "Practice " : "") + DATA.noun + " " + numberOf(i) + ": " + (status || "not started"),
    "aria-current": String(i === state.at), onclick: () => go(i),
  }, numberOf(i))));
  const current = strip.children[state.at];  // a long strip scrolls by itself; the page around it stays where it is
  if (current) strip.scrollTop = current.offsetTop - strip.offsetTop - strip.clientHeight / 2 + current.clientHeight / 2;
  return done;
}

function go(i) {
  if (i < 0 || i >= DATA.items.length) return;
  state.at = i;
  save();
  draw();
}

function download(record) {
  const name = [DATA.format, DATA.form, DATA.rater].join("_") + (record.complete ? "" : "_unfinished") + ".json";
  const url = URL.createObjectURL(new Blob([JSON.stringify(record, null, 1)], { type: "application/json" }));
  const link = el("a", { href: url, download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(url), 10000);
  return name;
}

function dialog(id, ...children) {
  const old = document.getElementById(id);
  if (old) old.remove();
  const node = el("dialog", { id }, ...children);
  document.body.append(node);
  node.addEventListener("close", () => node.remove());
  node.showModal();
  node.scrollTop = 0; // focus may lie on a button further down
  return node;
}

function closer(label, work) {
  return el("button", { class: "button", onclick: (event) => { event.target.closest("dialog").close(); if (work) work(); } }, label);
}

/* What is sent back, or kept as a backup: asks for a name once, and says what is still missing. */
function sendBack(record, openItems) {
  const finished = openItems.length === 0;
  const name = el("input", { type: "text", id: "signature", value: state.signature, autocomplete: "name", maxLength: 80 });
  name.addEventListener("input", () => { state.signature = name.value; save(); });
  const jump = (i) => closer(numberOf(i), () => go(i));
  const give = () => {
    const file = download(Object.assign(record(), { complete: finished, signature: state.signature.trim() }));
    said.textContent = finished ? "Downloaded as " + file + ". Please send this file back." : "Downloaded as " + file + ". You can load it in this form on any computer.";
  };
  const said = el("p", { role: "status", id: "downloaded" });
  dialog("send",
    el("h2", {}, finished ? "Ready to send" : "Not finished yet"),
    finished ? el("p", {}, "Every " + DATA.noun + " is done. Download the file and send it back by mail.")
             : el("div", {}, el("p", {}, openItems.length + " to go. Go to:"), el("div", { class: "actions" }, ...openItems.slice(0, 40).map(jump))),
    el("p", {}, el("label", { class: "field" }, "Your name or initials", name)), said,
    el("div", { class: "actions" },
      el("button", { class: "button" + (finished ? " main" : ""), id: "download", onclick: give }, finished ? "Download the file" : "Download a backup"),
      el("button", { class: "button", onclick: () => document.getElementById("load").click() }, "Load a backup"), closer("Close")),
    el("input", { type: "file", id: "load", accept: ".json,application/json", hidden: true, onchange: loadBackup }));
}

async function loadBackup(event) {
  const said = document.getElementById("downloaded");
  try {
    const record = JSON.parse(await event.target.files[0].text());
    if (record.format !== DATA.format || record.form !== DATA.form || record.rater !== DATA.rater) throw new Error();
    adopt(fromRecord(record));
    save();
    document.getElementById("send").close();
    draw();
  } catch { said.textContent = "This file is not a backup of this form; nothing was changed."; }
}

function typing(event) {
  return event.target.matches("textarea, select, input[type=text]") || event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]");
}
