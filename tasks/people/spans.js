/* Checking extracted phrases: each is right or wrong for its symptom, and phrases that were missed are added. */
const LETTERS = "abcdefghijklmnopqrstuvwxyz";
const labelOf = (name) => (DATA.symptoms.find((symptom) => symptom.name === name) || { label: name }).label;
/* The colour that the report gives the symptom. */
const toneOf = (name) => "s" + DATA.symptoms.findIndex((symptom) => symptom.name === name) % 8;
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

function statusOf(i) {
  const now = entry(i);
  return now.checked ? "done" : now.incorrect.length || now.missing.length || corrections(now).length ? "started" : "";
}

function changed() {
  save();
  document.getElementById("note").replaceChildren(...marked());  // the note stays where it was scrolled to
  drawPanel();
}

function toggle(k) {
  if (k >= item().spans.length) return;
  const wrong = new Set(entry().incorrect);
  if (!wrong.delete(k)) wrong.add(k);
  entry().incorrect = [...wrong].sort((a, b) => a - b);
  changed();
}

/* The selected part of the note without blanks and asterisks around it, or null. */
function selected() {
  const selection = getSelection(), holder = document.getElementById("note");
  if (!selection.rangeCount || selection.isCollapsed || !holder.contains(selection.anchorNode) || !holder.contains(selection.focusNode)) return null;
  const range = selection.getRangeAt(0), before = document.createRange();
  before.setStart(holder, 0);
  before.setEnd(range.startContainer, range.startOffset);
  const text = range.toString(), words = text.replace(/^[\s*]+|[\s*]+$/g, ""), from = Array.from(before.toString() + text.slice(0, text.indexOf(words))).length;
  return words ? { start: from, end: from + Array.from(words).length } : null;
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

/* Where the note's **headings** are: the asterisks, which stay in the page as positions count them, and the words. */
function headings() {
  return [...item().text.matchAll(BOLD)].map((found) => {
    const start = Array.from(item().text.slice(0, found.index)).length;
    return { start, end: start + Array.from(found[0]).length };
  });
}

/* The note in stretches that have the same marks. */
function marked() {
  const text = characters(), now = entry(), bold = headings();
  const marks = [
    ...item().spans.map((span, k) => ({ ...span, assertion: stated(k), kind: now.incorrect.includes(k) ? "wrong" : "found", letter: LETTERS[k] || "" })),
    ...now.missing.map((span) => ({ ...span, kind: "missed", letter: "" })),
  ];
  const places = [...marks.flatMap((mark) => [mark.start, mark.end]), ...bold.flatMap(({ start, end }) => [start, start + 2, end - 2, end])];
  const cuts = [...new Set([0, text.length, ...places])].sort((a, b) => a - b);
  return cuts.slice(0, -1).map((from, k) => {
    const within = (one) => one.start <= from && cuts[k + 1] <= one.end;
    const over = marks.filter(within), heading = bold.find(within), plain = text.slice(from, cuts[k + 1]).join("");
    const hidden = heading && (from < heading.start + 2 || from >= heading.end - 2);
    const words = heading ? el(hidden ? "span" : "strong", { hidden }, plain) : plain;
    if (!over.length) return words;
    const right = over.filter((mark) => mark.kind !== "wrong"), shown = right.length ? right : over;
    const kinds = [...new Set(shown.map((mark) => mark.kind))];
    if (shown.every((mark) => mark.assertion && mark.assertion !== "present")) kinds.push("hollow");
    if (shown.length > 1) kinds.push("multi");
    const begins = over.filter((mark) => mark.start === from).map((mark) => mark.letter).join("");
    const title = over.map((mark) => labelOf(mark.symptom) + (mark.kind === "missed" ? " (added)" : mark.kind === "wrong" ? " (wrong)" : mark.assertion ? ": " + mark.assertion : "")).join(", ");
    return el("mark", { class: [toneOf(shown[0].symptom), ...kinds].join(" "), title, "data-letter": begins }, words);
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
  const now = entry();
  fillPanel(
    box("Extracted phrases", now.incorrect.length + " of " + item().spans.length + " wrong, " + corrections(now).length + " corrected",
      el("p", {}, item().spans.length ? "Tick each phrase that says nothing about its symptom, and correct what the note asserts of it." : "No phrase was extracted from this note."), ...item().spans.map(spanRow)),
    box("Missing phrases", now.missing.length + " added", el("p", {}, "Select a phrase in the note, or type it here, then choose its symptom."),
      el("input", { type: "text", id: "typed", "aria-label": "Missing phrase", placeholder: "phrase as written in the note", maxLength: 500 }),
      el("div", { class: "actions" }, ...DATA.symptoms.map((symptom, k) => el("button", {
        class: "button small " + toneOf(symptom.name), onmousedown: (event) => event.preventDefault(), onclick: () => addMissing(symptom.name),
      }, symptom.label + " ", k < 9 ? el("kbd", {}, String(k + 1)) : ""))),
      el("p", { id: "said", role: "status" }), ...now.missing.map(missingRow)),
    pager(now.checked ? el("button", { class: "button", id: "reopen", onclick: () => { now.checked = false; changed(); } }, "Not done") : null,
      now.checked ? nextButton() : el("button", { class: "button main", id: "next", onclick: check }, "Note is checked ", el("kbd", {}, "Enter"))));
}

function check() {
  entry().checked = true;
  save();
  if (!openItems().length) draw();
  next();
}

function draw() {
  const version = item().record.split("/")[1] === "compact" ? "Compact version" : "Note";
  document.getElementById("texts").replaceChildren(
    el("section", { class: "sheet", "aria-label": version }, el("h2", {}, version + " (record " + item().record.split("/")[0] + ")"), el("div", { id: "note", tabIndex: 0 }, ...marked())));
  drawPanel();
}

const BLANK = { checked: true };
const isReturned = (now) => now.checked;

function wellFormed(id, given) {
  const it = DATA.items.find((known) => known.record === id), size = Array.from(it.text).length;
  return typeof given.checked === "boolean" && given.incorrect.every((k) => Number.isInteger(k) && k >= 0 && k < it.spans.length)
    && (given.corrected || []).every((one) => Number.isInteger(one.span) && it.spans[one.span] && DATA.assertions.includes(one.assertion))
    && given.missing.every((span) => DATA.symptoms.some((symptom) => symptom.name === span.symptom)
      && Number.isInteger(span.start) && Number.isInteger(span.end) && span.start >= 0 && span.start < span.end && span.end <= size);
}

function help() {
  dialog("help", el("h2", {}, "How to check the phrases"),
    el("p", {}, "Phrases were extracted from each note for the symptoms " + DATA.symptoms.map((symptom) => symptom.label).join(", ") + ". A phrase is right if it says that its symptom is present or absent, or describes it."),
    el("ul", {},
      el("li", {}, "Mark a phrase as wrong if it says nothing about its symptom. A phrase that is a little too long or too short is right."),
      el("li", {}, "The list beside a phrase says what the note asserts: that the symptom is present, absent, possible, past, or another person's. Correct it where it is wrong."),
      el("li", {}, "Add a phrase that was missed: select it in the note and choose its symptom. A part of an extracted phrase is not missing."),
      el("li", {}, "A note without any mistake is done at once: press Enter.")),
    el("p", {}, "Your answers are saved in this browser. When all notes are checked, download the file and send it back."),
    el("h3", {}, "Keys"),
    keyList({ "a – z": "mark a phrase as wrong, or take that back", ["1 – " + Math.min(DATA.symptoms.length, 9)]: "add the selected phrase for a symptom", Enter: "the note is checked; next note", "← →": "another note", "?": "this page" }),
    el("div", { class: "actions" }, closer("Close")));
}

function keyed(key, event) {
  if (key === "Enter") return event.target.closest("button") ? null : check;
  const symptom = /^[1-9]$/.test(key) ? DATA.symptoms[Number(key) - 1] : undefined;
  if (symptom) return () => addMissing(symptom.name);
  return key.length === 1 && LETTERS.includes(key) ? () => toggle(LETTERS.indexOf(key)) : undefined;
}

begin("Checking extracted phrases", () => ({ checked: false, incorrect: [], missing: [] }));
