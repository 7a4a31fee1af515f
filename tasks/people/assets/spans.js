/* Checking extracted phrases: each is right or wrong for its symptom, and phrases that were missed are added. */
const LETTERS = "abcdefghijklmnopqrstuvwxyz";
const item = () => DATA.items[state.at];
const entry = (i = state.at) => state.entries[DATA.items[i].record];
const labelOf = (name) => (DATA.symptoms.find((symptom) => symptom.name === name) || { label: name }).label;
const toneOf = (name) => "tone" + DATA.symptoms.findIndex((symptom) => symptom.name === name) % 8;
/* Positions count characters as Python does, not UTF-16 units. */
const characters = () => Array.from(item().text);
const phrase = (span) => characters().slice(span.start, span.end).join("").replace(/\s+/g, " ");

const corrections = (now) => (now.corrected ??= []);
/* What the reader says that phrase k asserts: what was extracted, unless corrected. */
const stated = (k, now = entry()) => (corrections(now).find((one) => one.span === k) || item().spans[k]).assertion;

function setAssertion(k, assertion) {
  const now = entry(), others = corrections(now).filter((one) => one.span !== k);
  if (assertion !== item().spans[k].assertion) others.push({ span: k, assertion });
  now.corrected = others.sort((a, b) => a.span - b.span);
  changed();
}

function statusOf(_, i) {
  const now = entry(i);
  return now.checked ? "done" : now.incorrect.length || now.missing.length || corrections(now).length ? "started" : "";
}

function changed() { save(); draw(); }

function toggle(k) {
  if (k >= item().spans.length) return;
  const wrong = new Set(entry().incorrect);
  if (!wrong.delete(k)) wrong.add(k);
  entry().incorrect = [...wrong].sort((a, b) => a - b);
  changed();
}

/* The selected part of the note without the blanks around it, or null. */
function selected() {
  const selection = getSelection(), holder = document.getElementById("note");
  if (!selection.rangeCount || selection.isCollapsed || !holder.contains(selection.anchorNode) || !holder.contains(selection.focusNode)) return null;
  const range = selection.getRangeAt(0), before = document.createRange();
  before.setStart(holder, 0);
  before.setEnd(range.startContainer, range.startOffset);
  const text = range.toString(), start = Array.from(before.toString()).length;
  const from = start + Array.from(text).length - Array.from(text.trimStart()).length;
  const size = Array.from(text.trim()).length;
  return size ? { start: from, end: from + size } : null;
}

/* The first place of a typed phrase that is not yet marked as missing for the symptom, or null. */
function typed(symptom) {
  const words = document.getElementById("typed").value.trim();
  const text = item().text.toLowerCase();
  for (let at = words ? text.indexOf(words.toLowerCase()) : -1; at >= 0; at = text.indexOf(words.toLowerCase(), at + 1)) {
    const start = Array.from(item().text.slice(0, at)).length, end = start + Array.from(words).length;
    if (!entry().missing.some((span) => span.symptom === symptom && span.start === start)) return { start, end };
  }
  return null;
}

function addMissing(symptom) {
  const place = selected() || typed(symptom);
  const said = document.getElementById("said");
  if (!place) { said.textContent = "Select a phrase in the note, or type it as it is written there."; return; }
  const known = [...item().spans, ...entry().missing];
  if (known.some((span) => span.symptom === symptom && span.start === place.start && span.end === place.end)) {
    said.textContent = "This phrase is already marked as " + labelOf(symptom) + ".";
    return;
  }
  entry().missing.push({ symptom, ...place });
  entry().missing.sort((a, b) => a.start - b.start || a.end - b.end);
  changed();
}

/* The note in stretches that have the same marks. */
function marked() {
  const text = characters(), now = entry();
  const marks = [
    ...item().spans.map((span, k) => ({ ...span, assertion: stated(k), kind: now.incorrect.includes(k) ? "wrong" : "found", letter: LETTERS[k] || "" })),
    ...now.missing.map((span) => ({ ...span, kind: "missed", letter: "" })),
  ];
  const cuts = [...new Set([0, text.length, ...marks.flatMap((mark) => [mark.start, mark.end])])].sort((a, b) => a - b);
  return cuts.slice(0, -1).map((from, k) => {
    const words = text.slice(from, cuts[k + 1]).join(""), over = marks.filter((mark) => mark.start <= from && cuts[k + 1] <= mark.end);
    if (!over.length) return words;
    const kinds = [...new Set(over.map((mark) => mark.kind))];
    if (over.every((mark) => mark.assertion && mark.assertion !== "present")) kinds.push("hollow");
    const begins = over.filter((mark) => mark.start === from).map((mark) => mark.letter).join("");
    const title = over.map((mark) => labelOf(mark.symptom) + (mark.kind === "missed" ? " (added)" : mark.kind === "wrong" ? " (wrong)" : mark.assertion ? ": " + mark.assertion : "")).join(", ");
    return el("mark", { class: [toneOf(over[0].symptom), ...kinds].join(" "), title, "data-letter": begins }, words);
  });
}

function spanRow(span, k) {
  const wrong = entry().incorrect.includes(k);
  const row = el("label", { class: "choice" + (wrong ? " penalised" : "") },
    el("input", { type: "checkbox", checked: wrong, name: "incorrect", value: String(k), onchange: () => toggle(k) }),
    LETTERS[k] ? el("kbd", {}, LETTERS[k]) : null,
    el("span", {}, el("strong", { class: "tag " + toneOf(span.symptom) }, labelOf(span.symptom)), " ", phrase(span)));
  if (!span.assertion) return row;
  return el("div", { class: "asserted" }, row, el("select", {
    "aria-label": "What the note asserts: " + phrase(span), disabled: wrong, onchange: (event) => setAssertion(k, event.target.value),
  }, ...DATA.assertions.map((one) => el("option", { value: one, selected: one === stated(k) }, one))));
}

function missingRow(span, k) {
  return el("div", { class: "choice" }, el("span", {}, el("strong", { class: "tag " + toneOf(span.symptom) }, labelOf(span.symptom)), " ", phrase(span)),
    el("button", { class: "button small", "aria-label": "Take back " + phrase(span), onclick: () => { entry().missing.splice(k, 1); changed(); } }, "Take back"));
}

function drawPanel() {
  showProgress(statusOf);
  const now = entry(), left = openItems();
  document.getElementById("panel").replaceChildren(
    el("section", { class: "question open" },
      el("div", { class: "head" }, el("span", { class: "name" }, "Extracted phrases"), el("span", { class: "value" }, now.incorrect.length + " of " + item().spans.length + " wrong, " + corrections(now).length + " corrected")),
      el("div", { class: "body" }, el("p", {}, item().spans.length ? "Tick each phrase that says nothing about its symptom, and correct what the note asserts of it." : "No phrase was extracted from this note."), ...item().spans.map(spanRow))),
    el("section", { class: "question open" },
      el("div", { class: "head" }, el("span", { class: "name" }, "Missing phrases"), el("span", { class: "value" }, now.missing.length + " added")),
      el("div", { class: "body" }, el("p", {}, "Select a phrase in the note, or type it here, then choose its symptom."),
        el("input", { type: "text", id: "typed", "aria-label": "Missing phrase", placeholder: "phrase as written in the note", maxLength: 500 }),
        el("div", { class: "actions" }, ...DATA.symptoms.map((symptom, k) => el("button", {
          class: "button small " + toneOf(symptom.name), onmousedown: (event) => event.preventDefault(), onclick: () => addMissing(symptom.name),
        }, symptom.label + " ", k < 9 ? el("kbd", {}, String(k + 1)) : ""))),
        el("p", { id: "said", role: "status" }), ...now.missing.map(missingRow))),
    el("div", { class: "pager" },
      el("button", { class: "button", disabled: state.at === 0, onclick: () => go(state.at - 1) }, "← Previous"),
      now.checked ? el("button", { class: "button", id: "reopen", onclick: () => { now.checked = false; changed(); } }, "Not done") : null,
      el("button", { class: "button main", id: "next", onclick: next }, now.checked && !left.length ? "All done: get the file to send" : now.checked ? "Next note" : "Note is checked ", now.checked ? "" : el("kbd", {}, "Enter"))));
  showSaved();
}

function openItems() { return DATA.items.map((_, i) => i).filter((i) => !entry(i).checked); }

function next() {
  entry().checked = true;
  save();
  const open = openItems();
  if (!open.length) { draw(); send(); return; }
  go(open.find((i) => i > state.at) ?? open[0]);
}

function draw() {
  const version = item().record.split("/")[1] === "compact" ? "Compact version" : "Note";
  document.getElementById("texts").replaceChildren(
    el("section", { class: "sheet", "aria-label": version }, el("h2", {}, version + " " + item().record.split("/")[0]), el("div", { id: "note", tabIndex: 0 }, ...marked())));
  drawPanel();
}

function send() { sendBack(toRecord, openItems()); }

function toRecord() {
  const notes = DATA.items.filter((it) => state.entries[it.record].checked).map((it) => {
    const { incorrect, missing, corrected = [] } = state.entries[it.record];
    return { record: it.record, incorrect, missing, corrected };
  });
  return { format: DATA.format, form: DATA.form, rater: DATA.rater, notes };
}

function fromRecord(record) {
  return { at: 0, signature: record.signature, entries: Object.fromEntries(record.notes.map(({ record: id, ...rest }) => [id, { checked: true, ...rest }])) };
}

function wellFormed(id, given) {
  const it = DATA.items.find((known) => known.record === id), size = Array.from(it.text).length;
  return typeof given.checked === "boolean" && given.incorrect.every((k) => Number.isInteger(k) && k >= 0 && k < it.spans.length)
    && (given.corrected || []).every((one) => Number.isInteger(one.span) && it.spans[one.span] && DATA.assertions.includes(one.assertion))
    && given.missing.every((span) => DATA.symptoms.some((symptom) => symptom.name === span.symptom)
      && Number.isInteger(span.start) && Number.isInteger(span.end) && span.start >= 0 && span.start < span.end && span.end <= size);
}

function help() {
  const key = (name, text) => [el("dt", {}, el("kbd", {}, name)), el("dd", {}, text)];
  dialog("help", el("h2", {}, "How to check the phrases"),
    el("p", {}, "Phrases were extracted from each note for the symptoms " + DATA.symptoms.map((symptom) => symptom.label).join(", ") + ". A phrase is right if it says that its symptom is present or absent, or describes it."),
    el("ul", {},
      el("li", {}, "Mark a phrase as wrong if it says nothing about its symptom. A phrase that is a little too long or too short is right."),
      el("li", {}, "Beside a phrase is what the note is taken to assert: that the symptom is present, absent, possible, past, or another person's. Correct it where it is wrong."),
      el("li", {}, "Add a phrase that was missed: select it in the note and choose its symptom. A part of an extracted phrase is not missing."),
      el("li", {}, "A note without any mistake is done at once: press Enter.")),
    el("p", {}, "Your answers are saved in this browser. When all notes are checked, download the file and send it back."),
    el("h3", {}, "Keys"),
    el("dl", {}, ...key("a – z", "mark a phrase as wrong, or take that back"), ...key("1 – " + Math.min(DATA.symptoms.length, 9), "add the selected phrase for a symptom"),
      ...key("Enter", "the note is checked; next note"), ...key("← →", "another note"), ...key("?", "this page")),
    el("div", { class: "actions" }, closer("Close")));
}

document.addEventListener("keydown", (event) => {
  if (typing(event)) return;
  const key = event.key, digit = /^[1-9]$/.test(key) ? Number(key) - 1 : -1;
  const act = { "?": help, ArrowRight: () => go(state.at + 1), ArrowLeft: () => go(state.at - 1), Enter: event.target.closest("button") ? null : next }[key]
    ?? (digit >= 0 && DATA.symptoms[digit] ? () => addMissing(DATA.symptoms[digit].name) : null)
    ?? (key.length === 1 && LETTERS.includes(key) ? () => toggle(LETTERS.indexOf(key)) : null);
  if (act) { event.preventDefault(); act(); }
});

restore({ at: 0, signature: "", entries: Object.fromEntries(DATA.items.map((it) => [it.record, { checked: false, incorrect: [], missing: [] }])) });
document.getElementById("app").append(
  header("Checking extracted phrases", [el("button", { class: "button", onclick: help }, "Instructions"), el("button", { class: "button", id: "finish", onclick: send }, "Finish or back up")]),
  el("nav", { class: "strip", id: "strip", "aria-label": "Notes" }),
  el("main", { class: "work" }, el("div", { class: "texts", id: "texts" }), el("div", { class: "panel", id: "panel" })));
if (DATA.items.length) draw(); else document.getElementById("texts").append(el("p", {}, "There is no note to check."));
