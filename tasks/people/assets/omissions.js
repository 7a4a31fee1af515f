/* Validating omissions: for each fact whether the summary has it, diagnoses it supports and refutes, its importance. */
const item = () => DATA.items[state.at];
const entry = (i = state.at) => state.entries[DATA.items[i].record];
const INCLUDED = ["yes", "partially", "no"], GRADES = ["critical", "important", "other"];
const KEYS = { included: { y: "yes", p: "partially", n: "no" }, category: { 1: "critical", 2: "important", 3: "other" } };

const COUNTS = ["supports", "refutes"];

/* Whether all four questions of a fact are answered. */
function answered(e) { return Boolean(e.included && e.category) && COUNTS.every((name) => e[name] !== null); }

function statusOf(_, i) { return answered(entry(i)) ? "done" : ""; }
function changed() { save(); drawPanel(); }

function keyOf(name, value) { return Object.keys(KEYS[name]).find((key) => KEYS[name][key] === value); }

function options(name, values, label) {
  return el("section", { class: "question open" }, el("div", { class: "head" }, el("span", { class: "name" }, label)),
    el("div", { class: "body" }, ...values.map((value) => el("label", { class: "letter" },
      el("input", { type: "radio", name, value, checked: entry()[name] === value, onchange: () => { entry()[name] = value; changed(); } }),
      el("kbd", {}, keyOf(name, value)), value))));
}

function counter(name, label) {
  const box = el("input", { type: "number", min: 0, max: item().diagnoses.length, value: entry()[name] ?? "", id: name, "aria-label": label });
  box.addEventListener("input", () => {
    const number = box.value === "" ? null : Number(box.value);
    if (number === null || (Number.isInteger(number) && number >= 0 && number <= item().diagnoses.length)) { entry()[name] = number; save(); showProgress(statusOf); showJudge(); }
  });
  return el("section", { class: "question open" }, el("div", { class: "head" }, el("span", { class: "name" }, label)), el("div", { class: "body" }, box));
}

/* What the judge answered, where the form has it, once the clinician has answered. */
function showJudge() {
  const given = item().judge;
  document.getElementById("judge").textContent = given && answered(entry())
    ? "The judge: supports " + given.supports + ", speaks against " + given.refutes + ", " + given.category + "." : "";
}

function drawPanel() {
  showProgress(statusOf);
  document.getElementById("panel").replaceChildren(
    el("section", { class: "question open" }, el("div", { class: "head" }, el("span", { class: "name" }, "Fact")), el("div", { class: "body" }, el("p", { class: "fact" }, item().fact))),
    options("included", INCLUDED, "Is this fact included in the summary?"),
    counter("supports", "How many diagnoses does it support?"),
    counter("refutes", "How many diagnoses does it speak against?"),
    options("category", GRADES, "If it were left out, how much of an effect would it have on the differential?"),
    el("p", { class: "why", id: "judge" }),
    el("details", { class: "why" }, el("summary", {}, "Why " + DATA.items.length + " facts?"), el("p", {}, DATA.sample)),
    el("div", { class: "pager" },
      el("button", { class: "button", disabled: state.at === 0, onclick: () => go(state.at - 1) }, "← Previous"),
      el("button", { class: "button main", id: "next", onclick: next }, openItems().length ? "Next fact" : "All done: get the file to send")));
  showJudge();
  showSaved();
}

function openItems() { return DATA.items.map((_, i) => i).filter((i) => !answered(entry(i))); }

function next() {
  const open = openItems();
  if (!open.length) { send(); return; }
  go(open.find((i) => i > state.at) ?? open[0]);
}

function listSheet(title, tag, texts) {
  return el("section", { class: "sheet", "aria-label": title }, el("h2", {}, title), el("div", { tabIndex: 0 },
    el(tag, {}, ...texts.map((text) => el("li", { class: text === item().fact ? "on" : "" }, text)))));
}

function draw() {
  const it = item();
  document.getElementById("texts").replaceChildren(
    sheet("Summary", it.summary), listSheet("All facts of the note", "ol", it.facts), listSheet("Differential", "ul", it.diagnoses));
  drawPanel();
}

function instructions() {
  dialog("instructions", el("h2", {}, "Validating omissions"),
    el("p", {}, "Each fact was taken from a note. Read the summary, the differential and all facts first. Then say whether the summary includes the fact: yes, partially (some element of it, even a medically unimportant one, is missing) or no (all of it is missing)."),
    el("p", {}, DATA.sample),
    el("p", {}, "A fact supports a diagnosis of the differential when it makes it likelier, as positive findings do, and speaks against it when it makes it less likely, as most negative findings do. Each count is between 0 and the number of diagnoses."),
    el("p", {}, "Importance is the effect on the differential if the fact were left out: critical (highest), important (moderate) or other (lowest). A diagnosis that would be added, removed, or become more or less likely is such an effect."),
    el("p", {}, "Keys: ", el("kbd", {}, "y"), " ", el("kbd", {}, "p"), " ", el("kbd", {}, "n"), " in the summary; ", el("kbd", {}, "1"), " ", el("kbd", {}, "2"), " ", el("kbd", {}, "3"), " importance; ", el("kbd", {}, "Enter"), " next open fact; arrow keys to go back and forth."),
    el("p", {}, "Your answers are saved in this browser. You can stop at any time: \u201cFinish or back up\u201d downloads the file to send back, finished or not."),
    closer("Start"));
}

function send() { sendBack(toRecord, openItems()); }

function toRecord() {
  const done = DATA.items.filter((it) => answered(state.entries[it.record]));
  return { format: DATA.format, form: DATA.form, rater: DATA.rater, facts: done.map((it) => Object.assign({ record: it.record }, state.entries[it.record])) };
}

function fromRecord(record) {
  return { at: 0, signature: record.signature, entries: Object.fromEntries(record.facts.map(({ record: id, ...rest }) => [id, rest])) };
}

function wellFormed(id, given) {
  return ["", ...INCLUDED].includes(given.included) && ["", ...GRADES].includes(given.category)
    && COUNTS.every((name) => given[name] === null || (Number.isInteger(given[name]) && given[name] >= 0));
}

document.addEventListener("keydown", (event) => {
  if (typing(event)) return;
  const act = { ArrowRight: () => go(state.at + 1), ArrowLeft: () => go(state.at - 1), Enter: next }[event.key]
    ?? Object.entries(KEYS).flatMap(([name, keys]) => event.key in keys ? [() => { entry()[name] = keys[event.key]; changed(); }] : [])[0];
  if (act && !(event.key === "Enter" && event.target.closest("button"))) { event.preventDefault(); act(); }
});

restore({ at: 0, signature: "", entries: Object.fromEntries(DATA.items.map((it) => [it.record, { included: "", supports: null, refutes: null, category: "" }])) });
document.getElementById("app").append(
  header("Validating omissions", [el("button", { class: "button", id: "help", onclick: instructions }, "Instructions"), el("button", { class: "button", id: "finish", onclick: send }, "Finish or back up")]),
  el("nav", { class: "strip", id: "strip", "aria-label": "Facts" }),
  el("main", { class: "work" }, el("div", { class: "texts", id: "texts" }), el("div", { class: "panel", id: "panel" })));
if (DATA.items.length) draw(); else document.getElementById("texts").append(el("p", {}, "There is no fact to validate."));
