/* Closed questions about texts: each item lists its texts, its questions and their options. */

const ofRecord = (id) => DATA.items.find((it) => it.record === id);
const answered = (it, now) => it.questions.every((one) => one.options.includes(now.answers[one.name]));

function statusOf(i) {
  const now = entry(i);
  return answered(DATA.items[i], now) ? "done" : Object.keys(now.answers).length || now.comment ? "started" : "";
}

function choose(name, option) {
  entry().answers[name] = option;
  save();
  drawPanel();
}

function drawPanel() {
  const now = entry();
  const option = (one, text) => el("label", { class: "letter" },
    el("input", { type: "radio", name: one.name, value: text, checked: now.answers[one.name] === text, onchange: () => choose(one.name, text) }), text);
  const comment = el("textarea", { value: now.comment, rows: 2, maxLength: 4000, "aria-label": "Comment" });
  comment.addEventListener("input", () => { now.comment = comment.value; save(); showProgress(); });
  fillPanel(
    ...item().questions.map((one) => box(one.wording, now.answers[one.name] || "", el("div", { class: "answer-row", role: "radiogroup", "aria-label": one.wording }, ...one.options.map((text) => option(one, text))))),
    box("Comment", "if you have one", comment),
    pager(nextButton()));
}

function draw() {
  document.getElementById("texts").replaceChildren(...item().sheets.map(([head, text]) => sheet(head, text)));
  drawPanel();
}

const BLANK = { comment: "" };
const isReturned = (now) => DATA.items.some((it) => state.entries[it.record] === now && answered(it, now));

function wellFormed(id, given) {
  const of = Object.fromEntries(ofRecord(id).questions.map((one) => [one.name, one.options]));
  return typeof given.comment === "string" && Object.entries(given.answers || {}).every(([name, text]) => (of[name] || []).includes(text));
}

function help() {
  dialog("help", el("h2", {}, "Instructions"), el("ul", {}, ...DATA.help.map((line) => el("li", {}, line))),
    el("p", {}, "Your work is kept in this browser as you go. When all is answered, download the file and send it back."),
    keyList({ "1 2": "first or second option of the first open question", Enter: "next " + DATA.noun + " that is not done", "← →": "another " + DATA.noun, "?": "this page" }),
    el("div", { class: "actions" }, closer("Close")));
}

function keyed(key) {
  const open = item().questions.find((one) => !(one.name in entry().answers));
  return open && open.options[key - 1] ? () => choose(open.name, open.options[key - 1]) : undefined;
}

begin(document.title, () => ({ answers: {}, comment: "" }));
