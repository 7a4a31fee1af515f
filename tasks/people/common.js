"use strict";
/* Shared by all forms. Everything from DATA reaches the page through text nodes and values, never through markup. */
const DATA = JSON.parse(document.getElementById("data").textContent);
const KEY = ["vignette", DATA.format, DATA.form, DATA.rater].join("/");
const PRACTICE = DATA.items.filter((it) => it.practice).length;  // they come first and are not counted
const COUNTED = DATA.items.length - PRACTICE;
let state = null;
let storage = true;

/* Each form defines statusOf(i), draw(), drawPanel(), help(), wellFormed(id, entry), isReturned(entry), BLANK, what a
 * returned entry has besides its answers, and keyed(key, event): what a key does, undefined for what it does in all forms. */
const item = () => DATA.items[state.at];
const entry = (i = state.at) => state.entries[DATA.items[i].record];
const isDone = (i) => ["done", "removed"].includes(statusOf(i));
const openItems = () => [...DATA.items.keys()].filter((i) => !isDone(i));

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

const BOLD = /\*\*([^*\n]+)\*\*/g;

/* A text as it was written, with **headings** in bold. */
function textBody(text) {
  return el("div", { tabIndex: 0 }, ...text.trim().split(BOLD).map((part, k) => (k % 2 ? el("strong", {}, part) : part)));
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
  const known = Object.entries(saved.entries || {}).filter(([id, given]) => id in state.entries && wellFormed(id, given));
  state.at = Math.min(Math.max(saved.at || 0, 0), DATA.items.length - 1);
  state.signature = saved.signature || "";
  Object.assign(state.entries, Object.fromEntries(known));
}

function save() {
  try { localStorage.setItem(KEY, JSON.stringify(state)); storage = true; } catch { storage = false; }
  showSaved();
}

function showSaved() {
  const node = document.getElementById("saved");
  node.textContent = storage ? "✓ Saved in this browser" : "Not saved: download a backup";
  node.classList.toggle("off", !storage);
}

/* The number of an item in the strip: practice items are P1, P2, ... */
function numberOf(i) {
  return i < PRACTICE ? "P" + (i + 1) : String(i + 1 - PRACTICE);
}

/* Builds the page and shows the item at which the reader left off. */
function begin(title, fresh) {
  restore({ at: 0, signature: "", entries: Object.fromEntries(DATA.items.map((it) => [it.record, fresh(it)])) });
  document.getElementById("app").append(
    el("header", {},
      el("h1", {}, title), el("span", { class: "who" }, DATA.rater),
      el("div", { class: "progress" }, el("progress", { id: "bar", max: COUNTED, value: 0, "aria-label": "Progress" }), el("span", { id: "count" })),
      el("span", { id: "saved", class: "saved", role: "status" }),
      el("div", { class: "buttons" }, el("button", { class: "button", onclick: help }, "Instructions"), el("button", { class: "button", id: "finish", onclick: send }, "Finish or back up"))),
    el("nav", { class: "strip", id: "strip", "aria-label": "All " + DATA.noun + "s" }),
    el("main", { class: "work" }, el("div", { class: "texts", id: "texts" }), el("div", { class: "panel", id: "panel" })));
  if (DATA.items.length) draw(); else document.getElementById("texts").append(el("p", {}, "This form has no " + DATA.noun + "."));
}

addEventListener("beforeunload", (event) => { if (!storage) event.preventDefault(); });

function showProgress() {
  const statuses = DATA.items.map((_, i) => statusOf(i));
  const done = [...statuses.keys()].filter((i) => i >= PRACTICE && isDone(i)).length;
  document.getElementById("bar").value = done;
  document.getElementById("count").textContent = done + " of " + COUNTED + " done";
  const strip = document.getElementById("strip");
  strip.replaceChildren(...statuses.map((status, i) => el("button", {
    class: status, title: (i < PRACTICE ? "Practice " : "") + DATA.noun + " " + numberOf(i) + ": " + (status || "not started"),
    "aria-current": String(i === state.at), tabIndex: i === state.at ? 0 : -1, onclick: () => go(i),
  }, numberOf(i))));
  const current = strip.children[state.at];  // a long strip scrolls by itself; the page around it stays where it is
  strip.scrollTop = current.offsetTop - strip.children[0].offsetTop - current.offsetHeight;
}

/* Shows the questions anew; a box that had the focus keeps it, so that the keyboard alone is enough. */
function fillPanel(...children) {
  const panel = document.getElementById("panel"), had = document.activeElement;
  const same = (node) => node.id === had.id && node.name === had.name && (!had.name || node.value === had.value);
  const again = panel.contains(had) && had.matches("input");
  showProgress();
  panel.replaceChildren(...children);
  if (again) [...panel.querySelectorAll("input")].find(same)?.focus({ preventScroll: true });
  showSaved();
}

/* A question that is always open, with its state on the right. */
function box(title, value, ...body) {
  return el("section", { class: "question open" }, el("div", { class: "head" }, el("span", { class: "name" }, title), el("span", { class: "value" }, value)), el("div", { class: "body" }, ...body));
}

function pager(...buttons) {
  return el("div", { class: "pager" }, el("button", { class: "button", disabled: state.at === 0, onclick: () => go(state.at - 1) }, "← Previous"), ...buttons);
}

/* The button to the next open item, which says where it leads. */
function nextButton() {
  const done = isDone(state.at), finished = !openItems().length;
  return el("button", { class: "button" + (done ? " main" : ""), id: "next", onclick: next },
    finished ? "All done: get the file to send" : done ? "Next " + DATA.noun : "Leave for later");
}

function next() {
  const open = openItems();
  if (!open.length) send(); else go(open.find((i) => i > state.at) ?? open[0]);
}

function go(i) {
  if (i < 0 || i >= DATA.items.length) return;
  state.at = i;
  save();
  document.activeElement.blur();  // keys answer the new item, not a box of the former one
  draw();
  for (const id of ["texts", "panel"]) document.getElementById(id).scrollTop = 0;
}

function keyList(keys) {
  return el("dl", {}, ...Object.entries(keys).flatMap(([name, text]) => [el("dt", {}, el("kbd", {}, name)), el("dd", {}, text)]));
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

/* Says which entries a backup leaves out: those of items that are only started, in forms that return what is done. */
function lost() {
  const kept = new Set(toRecord()[DATA.listed].map((one) => one.record));
  const left = [...DATA.items.keys()].filter((i) => statusOf(i) === "started" && !kept.has(DATA.items[i].record));
  return left.length ? el("p", { class: "hint" }, "A backup leaves out answers that are only started: " + DATA.noun + " " + left.map(numberOf).join(", ") + ". This browser keeps them.") : null;
}

/* The returned file: the answers to each item that is to be returned. */
function toRecord() {
  const given = DATA.items.map((it) => [it.record, state.entries[it.record]]).filter(([, now]) => isReturned(now));
  const answers = given.map(([record, now]) => Object.assign({ record }, Object.fromEntries(Object.entries(now).filter(([name]) => name !== "checked"))));
  return { format: DATA.format, form: DATA.form, rater: DATA.rater, [DATA.listed]: answers };
}

function fromRecord(record) {
  return { at: 0, signature: record.signature, entries: Object.fromEntries(record[DATA.listed].map(({ record: id, ...rest }) => [id, { ...BLANK, ...rest }])) };
}

/* What is sent back, or kept as a backup: asks for a name once, and says what is still missing. */
function send() {
  const open = openItems(), finished = !open.length;
  const name = el("input", { type: "text", id: "signature", value: state.signature, autocomplete: "name", maxLength: 80 });
  name.addEventListener("input", () => { state.signature = name.value; save(); });
  const jump = (i) => closer(numberOf(i), () => go(i));
  const give = () => {
    const file = download(Object.assign(toRecord(), { complete: finished, signature: state.signature.trim() }));
    said.textContent = finished ? "Downloaded as " + file + ". Please send this file back." : "Downloaded as " + file + ". You can load it in this form on any computer.";
  };
  const said = el("p", { role: "status", id: "downloaded" });
  dialog("send",
    el("h2", {}, finished ? "Ready to send" : "Not finished yet"),
    finished ? el("p", {}, "Every " + DATA.noun + " is done. Download the file and send it back by mail.")
             : el("div", {}, el("p", {}, open.length + " of " + DATA.items.length + " to go. " + (open.length > 40 ? "The first 40:" : "Go to:")), el("div", { class: "actions" }, ...open.slice(0, 40).map(jump)), lost()),
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
  if (event.key === "Enter" && event.target.type === "number") return false;
  return event.target.matches("textarea, select, input[type=text], input[type=number]") || event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]");
}

document.addEventListener("keydown", (event) => {
  if (typing(event)) return;
  const shared = { "?": help, ArrowRight: () => go(state.at + 1), ArrowLeft: () => go(state.at - 1), Enter: event.target.closest("button") ? null : next };
  const own = keyed(event.key, event), act = own === undefined ? shared[event.key] : own;
  if (act) { event.preventDefault(); act(); }
});
