/* Revising questions: keep or remove; question, choices and right letter can be rewritten in place. */
const item = () => DATA.items[state.at];
const entry = (i = state.at) => state.entries[DATA.items[i].record];

function statusOf(_, i) {
  const decision = entry(i).decision;
  if (decision === "remove") return "removed";
  return decision === "keep" ? "done" : changes(i) ? "started" : "";
}

function changes(i) {
  const it = DATA.items[i], now = entry(i);
  return it.wording !== now.wording || it.answer !== now.answer || it.choices.some((choice, k) => choice !== now.choices[k]);
}

function area(value, original, set, rows, label) {
  const box = el("textarea", { value, rows, class: value === original ? "" : "changed", maxLength: 4000, "aria-label": label });
  box.addEventListener("input", () => { set(box.value); box.className = box.value === original ? "" : "changed"; save(); showProgress(statusOf); });
  return box;
}

function categories(now) {
  const select = el("select", { id: "category", "aria-label": "Category", onchange: () => { now.category = select.value; save(); } },
    ...["", ...DATA.categories].map((name) => el("option", { value: name }, name || "none")));
  select.value = now.category || "";
  return select;
}

function decide(decision) {
  entry().decision = entry().decision === decision ? "" : decision;
  save();
  drawPanel();
}

function drawPanel() {
  const it = item(), now = entry();
  const row = (letter, k) => el("div", { class: "answer-row" },
    el("label", { class: "letter" }, el("input", { type: "radio", name: "answer", value: letter, checked: now.answer === letter, onchange: () => { now.answer = letter; save(); drawPanel(); } }), letter),
    area(now.choices[k], it.choices[k], (value) => { now.choices[k] = value; }, 2, "Choice " + letter));
  const choice = (name, label, key) => el("button", { class: "button" + (now.decision === name ? " main" : ""), id: name, "aria-pressed": String(now.decision === name), onclick: () => decide(name) }, label + " ", el("kbd", {}, key));
  showProgress(statusOf);
  document.getElementById("panel").replaceChildren(
    el("section", { class: "question open" }, el("div", { class: "head" }, el("span", { class: "name" }, "Question"), el("span", { class: "value" }, changes(state.at) ? "revised" : "")),
      el("div", { class: "body" }, area(now.wording, it.wording, (value) => { now.wording = value; }, 4, "Question"))),
    el("section", { class: "question open" }, el("div", { class: "head" }, el("span", { class: "name" }, "Choices"), el("span", { class: "value" }, "the marked one is right")),
      el("div", { class: "body" }, ...DATA.letters.map(row))),
    el("section", { class: "question open" }, el("div", { class: "head" }, el("span", { class: "name" }, "Category")), el("div", { class: "body" }, categories(now))),
    it.reason ? el("section", { class: "question open" }, el("div", { class: "head" }, el("span", { class: "name" }, "Reason given")), el("div", { class: "body" }, el("p", {}, it.reason))) : "",
    el("div", { class: "pager" }, choice("keep", "Keep", "k"), choice("remove", "Remove", "r")),
    el("div", { class: "pager" },
      el("button", { class: "button", disabled: state.at === 0, onclick: () => go(state.at - 1) }, "← Previous"),
      el("button", { class: "button main", id: "next", onclick: next }, openItems().length ? "Next question" : "All done: get the file to send")));
  showSaved();
}

function openItems() { return DATA.items.map((_, i) => i).filter((i) => !entry(i).decision); }

function next() {
  const open = openItems();
  if (!open.length) { send(); return; }
  go(open.find((i) => i > state.at) ?? open[0]);
}

function draw() {
  document.getElementById("texts").replaceChildren(...item().notes.map((note) => sheet(note.head, note.text)));
  drawPanel();
}

function send() { sendBack(toRecord, openItems()); }

function toRecord() {
  const decided = DATA.items.filter((it) => state.entries[it.record].decision);
  return { format: DATA.format, form: DATA.form, rater: DATA.rater, questions: decided.map((it) => Object.assign({ record: it.record }, state.entries[it.record])) };
}

function fromRecord(record) {
  return { at: 0, signature: record.signature, entries: Object.fromEntries(record.questions.map(({ record: id, ...rest }) => [id, { category: "", ...rest }])) };
}

function wellFormed(id, given) {
  return ["", "keep", "remove"].includes(given.decision) && typeof given.wording === "string" && DATA.letters.includes(given.answer)
    && ["", ...DATA.categories].includes(given.category ?? "")
    && Array.isArray(given.choices) && given.choices.length === DATA.letters.length && given.choices.every((choice) => typeof choice === "string");
}

function help() {
  const key = (name, text) => [el("dt", {}, el("kbd", {}, name)), el("dd", {}, text)];
  dialog("help", el("h2", {}, "How to revise"),
    el("ul", {},
      el("li", {}, "Remove a question that is trivial, or that a clinician would not ask."),
      el("li", {}, "Rewrite a question that is unclear, too detailed, or not put as a clinician would put it."),
      el("li", {}, "Correct the right choice where it is wrong, unclear or incomplete."),
      el("li", {}, "Rewrite a wrong choice that does not stand in the notes or gives itself away."),
      el("li", {}, "Choose the category of the question's content, if you were asked to.")),
    el("p", {}, "Your work is kept in this browser as you go. When all questions are decided, download the file and send it back."),
    el("dl", {}, ...key("k", "keep"), ...key("r", "remove"), ...key("← →", "another question"), ...key("?", "this page")),
    el("div", { class: "actions" }, closer("Close")));
}

document.addEventListener("keydown", (event) => {
  if (typing(event)) return;
  const act = { "?": help, k: () => decide("keep"), r: () => decide("remove"), ArrowRight: () => go(state.at + 1), ArrowLeft: () => go(state.at - 1) }[event.key];
  if (act) { event.preventDefault(); act(); }
});

restore({ at: 0, signature: "", entries: Object.fromEntries(DATA.items.map((it) => [it.record, { decision: "", wording: it.wording, choices: [...it.choices], answer: it.answer, category: "" }])) });
document.getElementById("app").append(
  header("Revising questions", [el("button", { class: "button", onclick: help }, "Instructions"), el("button", { class: "button", id: "finish", onclick: send }, "Finish or back up")]),
  el("nav", { class: "strip", id: "strip", "aria-label": "Questions" }),
  el("main", { class: "work" }, el("div", { class: "texts", id: "texts" }), el("div", { class: "panel", id: "panel" })));
if (DATA.items.length) draw(); else document.getElementById("texts").append(el("p", {}, "There is no question to revise."));
