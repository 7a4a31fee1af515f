/* Revising questions: keep or remove; question, choices and right letter can be rewritten in place. */

function statusOf(i) {
  const decision = entry(i).decision;
  if (decision && !problem(i)) return decision === "remove" ? "removed" : "done";
  return decision || changes(i) ? "started" : "";
}

/* Why a question would be refused when it is returned, or "". */
function problem(i) {
  const now = entry(i), plain = (text) => text.trim().replace(/\s+/g, " ").toLowerCase();
  if (!now.wording) return "The question is empty: write it again.";
  const distinct = new Set(now.choices.map(plain).filter(Boolean)).size;
  return now.decision !== "remove" && distinct < DATA.letters.length ? "Choices are empty or the same: rewrite them, or remove the question." : "";
}

function changes(i) {
  const it = DATA.items[i], now = entry(i);
  return it.wording !== now.wording || it.answer !== now.answer || it.choices.some((choice, k) => choice !== now.choices[k]);
}

function area(value, original, set, rows, label) {
  const box = el("textarea", { value, rows, class: value === original ? "" : "changed", maxLength: 4000, "aria-label": label });
  box.addEventListener("input", () => { set(box.value); box.className = box.value === original ? "" : "changed"; save(); showProgress(); showProblem(); });
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
  fillPanel(
    box("Question", changes(state.at) ? "revised" : "", area(now.wording, it.wording, (value) => { now.wording = value; }, 4, "Question")),
    box("Choices", "the marked one is right", ...DATA.letters.map(row)),
    box("Category of the question", "if you were asked for it", categories(now)),
    it.reason ? box("Reason for the right choice", "from the question's author", el("p", {}, it.reason)) : "",
    el("p", { class: "hint", id: "problem", role: "status" }),
    el("div", { class: "pager" }, choice("keep", "Keep", "k"), choice("remove", "Remove", "r")),
    pager(nextButton()));
  showProblem();
}

function showProblem() {
  const said = document.getElementById("problem");
  said.textContent = problem(state.at);
  said.hidden = !said.textContent;
  document.getElementById("next").replaceWith(nextButton());
}

function draw() {
  document.getElementById("texts").replaceChildren(...item().notes.map((note) => sheet(note.head, note.text)));
  drawPanel();
}

const BLANK = { category: "" };
const isReturned = (now) => Boolean(now.decision);

function wellFormed(id, given) {
  return ["", "keep", "remove"].includes(given.decision) && typeof given.wording === "string" && DATA.letters.includes(given.answer)
    && ["", ...DATA.categories].includes(given.category ?? "")
    && Array.isArray(given.choices) && given.choices.length === DATA.letters.length && given.choices.every((choice) => typeof choice === "string");
}

function help() {
  dialog("help", el("h2", {}, "How to revise"),
    el("ul", {},
      el("li", {}, "Remove a question that is trivial, or that a clinician would not ask."),
      el("li", {}, "Rewrite a question that is unclear, too detailed, or not put as a clinician would put it."),
      el("li", {}, "Correct the right choice where it is wrong, unclear or incomplete."),
      el("li", {}, "Rewrite a wrong choice that is not in the notes or gives itself away."),
      el("li", {}, "Choose the category of the question's content, if you were asked to.")),
    el("p", {}, "Your work is kept in this browser as you go. When all questions are decided, download the file and send it back."),
    keyList({ k: "keep", r: "remove", Enter: "next question that is not decided", "← →": "another question", "?": "this page" }),
    el("div", { class: "actions" }, closer("Close")));
}

const keyed = (key) => ({ k: () => decide("keep"), r: () => decide("remove") }[key]);

begin("Revising questions", (it) => ({ decision: "", wording: it.wording, choices: [...it.choices], answer: it.answer, category: "" }));
