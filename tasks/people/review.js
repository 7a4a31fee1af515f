/* Rating notes: penalties by part, then five scales. One question is open at a time; a rating opens the next. */
const LETTERS = "abcdefghijklmnopqrstuvwxyz";
const SCALES = DATA.rubric.scales;
let open = 0;

const penalties = (i = state.at) => Object.values(entry(i).penalties).reduce((sum, given) => sum + given.length, 0);
const score = (i = state.at) => Math.max(5 - penalties(i), 1);

function statusOf(i) {
  const given = SCALES.filter((scale) => entry(i).ratings[scale.name]).length;
  if (given === SCALES.length) return "done";
  return given || penalties(i) || entry(i).comment ? "started" : "";
}

function question(i, title, value, answered, ...body) {
  return el("section", { class: "question" + (open === i ? " open" : "") + (answered ? " answered" : ""), id: "q" + i },
    el("button", { class: "head", "aria-expanded": String(open === i), onclick: () => show(i) }, el("span", { class: "name" }, title), el("span", { class: "value" }, value)),
    el("div", { class: "body" }, ...body));
}

function penaltyQuestion() {
  let key = 0;
  const part = (part) => el("fieldset", { id: "part" + part.part },
    el("legend", {}, part.part + "  " + part.title), el("p", {}, part.rule),
    ...part.items.map((it) => tick(part.part, it, LETTERS[key++])));
  const total = penalties();
  return question(0, "Consistency with the prompt", total + (total === 1 ? " penalty" : " penalties") + " → " + score() + " of 5", statusOf(state.at) !== "",
    el("p", {}, DATA.rubric.consistency), ...item().parts.map(part),
    el("button", { class: "button", onclick: () => show(1) }, "Continue"), " ", el("kbd", {}, "Enter"));
}

function tick(part, it, letter) {
  const given = entry().penalties[part] || [];
  const on = given.includes(it.item);
  const box = el("input", { type: "checkbox", checked: on, name: part, value: it.item, onchange: () => toggle(part, it.item) });
  return el("label", { class: "choice" + (on ? " penalised" : "") }, box, letter ? el("kbd", {}, letter) : null, el("span", {}, it.label));
}

function toggle(part, name) {
  const given = new Set(entry().penalties[part] || []);
  if (!given.delete(name)) given.add(name);
  entry().penalties[part] = item().parts.find((p) => p.part === part).items.map((it) => it.item).filter((it) => given.has(it));
  save();
  drawPanel();
}

function scaleQuestion(scale, i) {
  const given = entry().ratings[scale.name];
  const rating = (value) => el("label", { class: "choice" + (given === value ? " on" : "") },
    el("input", { type: "radio", name: scale.name, value: String(value), checked: given === value, onchange: () => rate(scale.name, value) }),
    el("kbd", {}, String(value)), el("span", {}, scale.meanings[value]));
  return question(i + 1, scale.title, given ? String(given) : "–", Boolean(given), el("p", {}, scale.question), ...[5, 4, 3, 2, 1].map(rating));
}

function rate(name, value) {
  entry().ratings[name] = value;
  save();
  const missing = SCALES.findIndex((scale) => !entry().ratings[scale.name]);
  show(missing < 0 ? SCALES.length + 1 : missing + 1);
}

function show(i) {
  open = Math.min(Math.max(i, 0), SCALES.length + 1);
  drawPanel();
  const node = document.getElementById("q" + open) || document.getElementById("next");
  node.scrollIntoView({ block: "nearest" });
  if (open > SCALES.length) node.focus();
}

function remark() {
  const box = el("textarea", { id: "comment", rows: 2, maxLength: 2000, value: entry().comment });
  box.addEventListener("input", () => { entry().comment = box.value; save(); showProgress(); });
  return el("label", { class: "field" }, "Remarks (optional)", box);
}

function practiceHint() {
  const last = state.at === PRACTICE - 1;
  return item().practice ? el("p", { class: "hint", id: "practice" }, el("strong", {}, "Practice note " + (state.at + 1) + " of " + PRACTICE + ". "),
    "Rate it as you would any other; its ratings are not counted." + (last ? " Discuss the practice notes with the study team before you go on." : "")) : "";
}

function drawPanel() {
  fillPanel(practiceHint(), penaltyQuestion(), ...SCALES.map(scaleQuestion), remark(), pager(nextButton()));
}

function draw() {
  const it = item();
  document.getElementById("texts").replaceChildren(sheet("Prompt", it.prompt, "given"), sheet("Note", it.note), sheet("Compact version", it.compact));
  open = 0;
  drawPanel();
}

const BLANK = { comment: "" };
const isReturned = () => true;

function wellFormed(id, entry) {
  const parts = DATA.items.find((it) => String(it.record) === id).parts;
  return typeof entry.comment === "string"
    && Object.entries(entry.penalties).every(([name, given]) => given.every((it) => parts.some((p) => p.part === name && p.items.some((known) => known.item === it))))
    && Object.entries(entry.ratings).every(([name, value]) => SCALES.some((scale) => scale.name === name) && [1, 2, 3, 4, 5].includes(value));
}

function help() {
  dialog("help", el("h2", {}, "How to rate"),
    el("p", {}, DATA.rubric.introduction), el("p", {}, DATA.rubric.consistency),
    el("p", {}, "No penalty gives a consistency of 5, one gives 4, two 3, three 2, and more than three 1. The form counts for you."),
    PRACTICE ? el("p", {}, "The first " + PRACTICE + " notes (P1 to P" + PRACTICE + ") are for practice. Rate them, discuss them with the study team, then rate the others alone. Ratings of practice notes are not counted.") : "",
    el("p", {}, "Your entries are kept in this browser as you make them: close the form and come back whenever you like. When all notes are done, download the file and send it back."),
    el("h3", {}, "Keys"),
    keyList({ "a – z": "give or take back a penalty", Enter: "continue", "1 – 5": "rate the open question", "↑ ↓": "another question", "← →": "another note", "?": "this page" }),
    el("h3", {}, "Questions"), ...DATA.rubric.questions.flatMap((q) => [el("p", {}, el("strong", {}, q.question)), el("p", {}, q.answer)]),
    el("div", { class: "actions" }, closer("Close")));
}

function keyed(key, event) {
  if (key === "ArrowDown") return () => show(open + 1);
  if (key === "ArrowUp") return () => show(open - 1);
  if (key === "Enter") return open === 0 && !event.target.matches("button") ? () => show(1) : null;
  if (/^[1-5]$/.test(key) && open >= 1 && open <= SCALES.length) return () => rate(SCALES[open - 1].name, Number(key));
  const all = item().parts.flatMap((part) => part.items.map((it) => [part.part, it.item]));
  const chosen = open === 0 && key.length === 1 ? all[LETTERS.indexOf(key)] : undefined;
  return chosen && (() => toggle(...chosen));
}

begin("Rating clinical notes", () => ({ penalties: {}, ratings: {}, comment: "" }));
