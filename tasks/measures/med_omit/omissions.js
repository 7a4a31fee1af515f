/* Validating omissions: for each fact whether the summary has it, diagnoses it supports and refutes, its importance. */
const INCLUDED = ["yes", "partially", "no"], GRADES = ["critical", "important", "other"];
const EFFECTS = { critical: " (highest)", important: " (moderate)", other: " (lowest)" };
const KEYS = { included: { y: "yes", p: "partially", n: "no" }, category: { 1: "critical", 2: "important", 3: "other" } };

const COUNTS = ["supports", "refutes"];

/* Whether all four questions of a fact are answered. */
function answered(e) { return Boolean(e.included && e.category) && COUNTS.every((name) => e[name] !== null); }

function statusOf(i) {
  return answered(entry(i)) ? "done" : Object.values(entry(i)).some((value) => value !== "" && value !== null) ? "started" : "";
}

function changed() { save(); drawPanel(); }

function keyOf(name, value) { return Object.keys(KEYS[name]).find((key) => KEYS[name][key] === value); }

function options(name, values, label, meanings = {}) {
  return box(label, entry()[name] ? "✓" : "–", ...values.map((value) => el("label", { class: "letter" },
    el("input", { type: "radio", name, value, checked: entry()[name] === value, onchange: () => { entry()[name] = value; changed(); } }),
    el("kbd", {}, keyOf(name, value)), value + (meanings[value] ?? ""))));
}

function counter(name, label) {
  const most = item().diagnoses.length;
  const field = el("input", { type: "number", min: 0, max: most, step: 1, required: true, value: entry()[name] ?? "", id: name, "aria-label": label });
  const mark = () => (entry()[name] === null ? "–" : "✓");
  const question = box(label, mark(), field, " of " + most);
  field.addEventListener("input", () => {  // not drawn anew, as the field is in use
    entry()[name] = field.checkValidity() ? Number(field.value) : null;
    save();
    question.querySelector(".value").textContent = mark();
    document.getElementById("next").replaceWith(nextButton());
    showProgress();
    showJudge();
  });
  return question;
}

/* What the judge answered, where the form has it, once the clinician has answered. */
function showJudge() {
  const given = item().judge;
  document.getElementById("judge").textContent = given && answered(entry())
    ? "The judge: supports " + given.supports + ", speaks against " + given.refutes + ", " + given.category + "." : "";
}

function drawPanel() {
  fillPanel(
    box("Fact", "", el("p", { class: "fact" }, item().fact)),
    options("included", INCLUDED, "Is this fact included in the summary?"),
    counter("supports", "How many diagnoses does it support?"),
    counter("refutes", "How many diagnoses does it speak against?"),
    options("category", GRADES, "If it were left out, how much of an effect would it have on the differential?", EFFECTS),
    el("p", { class: "why", id: "judge" }),
    el("details", { class: "why" }, el("summary", {}, "Why " + DATA.items.length + " facts?"), el("p", {}, DATA.sample)),
    pager(nextButton()));
  showJudge();
}

function listSheet(title, tag, texts) {
  return el("section", { class: "sheet", "aria-label": title }, el("h2", {}, title), el("div", { tabIndex: 0 },
    el(tag, {}, ...texts.map((text) => el("li", { class: text === item().fact ? "on" : "" }, text)))));
}

function draw() {
  const it = item();
  document.getElementById("texts").replaceChildren(
    sheet("Summary", it.summary), listSheet("Differential", "ul", it.diagnoses), listSheet("All facts of the note", "ol", it.facts));
  const list = document.querySelector(".sheet:has(.on) > div"), fact = document.querySelector(".sheet .on");
  if (list) list.scrollTop = fact.offsetTop - list.offsetTop - list.clientHeight / 2;
  drawPanel();
}

function help() {
  dialog("help", el("h2", {}, "How to validate omissions"),
    el("p", {}, "Each fact was taken from a note. Read the summary, the differential and all facts first. Then say whether the summary includes the fact: yes, partially (some element of it, even a medically unimportant one, is missing) or no (all of it is missing)."),
    el("p", {}, DATA.sample),
    el("p", {}, "A fact supports a diagnosis of the differential when it makes it likelier, as positive findings do, and speaks against it when it makes it less likely, as most negative findings do. Each count is between 0 and the number of diagnoses."),
    el("p", {}, "Importance is the effect on the differential if the fact were left out: critical (highest), important (moderate) or other (lowest). A diagnosis that would be added, removed, or become more or less likely is such an effect."),
    el("h3", {}, "Keys"),
    keyList({ "y p n": "whether the summary includes the fact", "1 2 3": "importance", Tab: "to the boxes for counts", Enter: "next open fact", "← →": "another fact", "?": "this page" }),
    el("p", {}, "Your answers are saved in this browser. You can stop at any time: \u201cFinish or back up\u201d downloads the file to send back, finished or not."),
    el("div", { class: "actions" }, closer("Close")));
}

const BLANK = {};
const isReturned = answered;

function wellFormed(id, given) {
  return ["", ...INCLUDED].includes(given.included) && ["", ...GRADES].includes(given.category)
    && COUNTS.every((name) => given[name] === null || (Number.isInteger(given[name]) && given[name] >= 0));
}

function keyed(key) {
  const name = Object.keys(KEYS).find((name) => key in KEYS[name]);
  return name && (() => { entry()[name] = KEYS[name][key]; changed(); });
}

begin("Validating omissions", () => ({ included: "", supports: null, refutes: null, category: "" }));
