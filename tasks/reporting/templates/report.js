"use strict";
// All text from notes enters the page through textContent: it is shown, never parsed as markup.
(function () {
  const data = JSON.parse(document.getElementById("note-data").textContent);
  const list = document.getElementById("note-list"), view = document.getElementById("note-view");
  const order = data.symptoms;

  function element(tag, text, className) {
    const made = document.createElement(tag);
    if (text !== undefined) made.textContent = text;
    if (className) made.className = className;
    return made;
  }

  function marked(stretches) {
    const box = element("div", undefined, "text");
    for (const [text, symptoms] of stretches) {
      if (!symptoms.length) { box.append(text); continue; }
      const mark = element("span", text, "mark s" + order.indexOf(symptoms[0]) + (symptoms.length > 1 ? " multi" : ""));
      mark.title = symptoms.join(", ");
      box.append(mark);
    }
    return box;
  }

  function facts(note) {
    const box = element("div", undefined, "facts");
    for (const [name, value] of Object.entries(note.facts)) {
      const on = !["no", "none", "0", "low", "summer"].includes(value) || (name === "fever" && value === "low");
      box.append(element("span", name + " " + value, on ? "on" : ""));
    }
    return box;
  }

  function folded(title, texts) {
    const box = element("details");
    box.append(element("summary", title));
    for (const text of texts) box.append(element("pre", text));
    return box;
  }

  function show(note, button) {
    for (const other of list.querySelectorAll("[aria-current]")) other.removeAttribute("aria-current");
    if (button) button.setAttribute("aria-current", "true");
    view.replaceChildren(element("h3", "Record " + note.record), facts(note));
    const versions = element("div", undefined, "versions");
    for (const [title, stretches] of [["Note", note.normal], ["Compact version", note.compact]]) {
      const column = element("div");
      column.append(element("h4", title), marked(stretches));
      versions.append(column);
    }
    view.append(versions, folded("Prompt", [note.prompt]));
    if (note.attempts.length) {
      view.append(folded(note.attempts.length + " earlier attempt(s), found inconsistent",
        note.attempts.map((attempt) => attempt.explanation + "\n\n" + attempt.note)));
    }
    view.scrollTop = 0;
  }

  function fill(words) {
    list.replaceChildren();
    for (const note of data.notes) {
      const whole = note.record + " " + note.kind + " " + note.normal.map((part) => part[0]).join("");
      if (!whole.toLowerCase().includes(words)) continue;
      const item = element("li"), button = element("button", "Record " + note.record);
      button.append(element("small", note.kind));
      button.addEventListener("click", () => show(note, button));
      item.append(button);
      list.append(item);
    }
    const first = list.querySelector("button");
    if (first) first.click(); else view.replaceChildren(element("p", "No note has these words."));
  }

  document.getElementById("note-filter").addEventListener("input", (event) => fill(event.target.value.toLowerCase()));
  for (const input of document.querySelectorAll("input.filter")) {
    const rows = input.closest("details").querySelectorAll("tbody tr");
    input.addEventListener("input", () => {
      for (const row of rows) row.hidden = !row.textContent.toLowerCase().includes(input.value.toLowerCase());
    });
  }
  fill("");
})();
