// Text of notes is inserted through textContent only, so it is never parsed as markup.
if (document.getElementById("note-data")) (function () {
  const data = JSON.parse(document.getElementById("note-data").textContent);
  const list = document.getElementById("note-list"), view = document.getElementById("note-view");
  const count = document.getElementById("note-count");
  const inputs = ["note-filter", "kind-filter", "symptom-filter"].map((id) => document.getElementById(id));
  const hidden = new Set();

  function marked(stretches) {
    const box = element("div", undefined, "text");
    for (const [text, spans] of stretches) {
      const shown = spans.filter(([symptom]) => !hidden.has(symptom));
      if (!spans.length) { box.append(...text.split(/\*\*([^*\n]+)\*\*/).map((part, at) => at % 2 ? element("b", part) : part)); continue; }
      const colour = shown.length ? "s" + data.symptoms.indexOf(shown[0][0]) % 8 : "off";
      const hollow = shown.length && shown.every(([, assertion]) => assertion && assertion !== "present");
      const mark = element("span", text, "mark " + colour + (shown.length > 1 ? " multi" : "") + (hollow ? " hollow" : ""));
      mark.dataset.symptoms = spans.map(([symptom]) => symptom).join(" ");
      mark.title = spans.map(([symptom, assertion]) => symptom + (assertion ? ": " + assertion : "")).join(", ");
      box.append(mark);
    }
    return box;
  }

  const ABSENT = ["no", "none"];
  function facts(note) {
    const box = element("dl", undefined, "facts");
    for (const [kind, names] of Object.entries(data.variables)) {
      const values = element("dd");
      for (const name of names) {
        if (!(name in note.facts)) continue;
        const value = note.facts[name], plain = name.replaceAll("_", " ");
        const text = value === "yes" ? plain : value === "no" ? "no " + plain : plain + " " + value;
        values.append(element("span", text, ABSENT.includes(value) ? "" : "on"));
      }
      if (values.childNodes.length) box.append(element("dt", kind), values);
    }
    return box;
  }

  function folded(title, texts) {
    const box = element("details");
    box.append(element("summary", title));
    for (const text of texts) box.append(element("pre", text));
    return box;
  }

  let current = null;
  function show(note) {
    const top = current === note ? view.scrollTop : 0;
    current = note;
    for (const button of list.querySelectorAll("button")) {
      if (Number(button.dataset.record) === note.record) button.setAttribute("aria-current", "true");
      else button.removeAttribute("aria-current");
    }
    const title = element("h3", "Record " + note.record + " ");
    title.append(element("small", "prompted with " + note.kind + (note.mark && "; " + note.mark)));
    view.replaceChildren(title, facts(note));
    const versions = element("div", undefined, "versions");
    for (const [name, stretches] of [["Note", note.normal], ["Compact version", note.compact]]) {
      const column = element("div");
      column.append(element("h4", name), stretches.length ? marked(stretches) : element("p", "none"));
      versions.append(column);
    }
    view.append(versions, folded("Prompt of the writer", [note.prompt]));
    if (note.attempts.length) {
      view.append(folded(note.attempts.length + " earlier attempt(s), flagged as inconsistent",
        note.attempts.map((attempt) => attempt.explanation + "\n\n" + attempt.note)));
    }
    view.scrollTop = top;
  }

  const texts = new Map(data.notes.map((note) => [note,
    ["record " + note.record, ...note.normal.map((part) => part[0]), "\n", ...note.compact.map((part) => part[0])].join("").toLowerCase()]));
  function fill() {
    const [words, kind, symptom] = inputs.map((input) => input.value);
    const chosen = data.notes.filter((note) => texts.get(note).includes(words.trim().toLowerCase())
      && (!kind || note.kind === kind) && (!symptom || !ABSENT.includes(note.facts[symptom])));
    list.replaceChildren(...chosen.map((note) => {
      const item = element("li"), button = element("button", "Record " + note.record);
      button.dataset.record = note.record;
      button.append(element("small", note.kind));
      button.addEventListener("click", () => show(note));
      item.append(button);
      return item;
    }));
    count.textContent = chosen.length + " of " + data.notes.length + " shown";
    if (chosen.length) show(chosen.includes(current) ? current : chosen[0]);
    else { current = null; view.replaceChildren(element("p", "No matching note.")); }
  }
  for (const input of inputs) input.addEventListener("input", fill);

  list.addEventListener("keydown", (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (!step) return;
    const buttons = [...list.querySelectorAll("button")], to = buttons[buttons.indexOf(document.activeElement) + step];
    if (to) { to.focus(); to.click(); }
    event.preventDefault();
  });

  for (const button of document.querySelectorAll(".legend button")) {
    button.addEventListener("click", () => {
      const symptom = button.dataset.symptom, off = !hidden.delete(symptom);
      if (off) hidden.add(symptom);
      button.setAttribute("aria-pressed", String(!off));
      if (current) show(current);
    });
  }
  fill();
})();

(function () {
  // Claims of outside documents: a line each, which opens to the model's reason.
  const judged = document.getElementById("judged-data");
  if (judged) {
    const documents = JSON.parse(judged.textContent);
    const [of, by, which] = ["document", "system", "verdict"].map((name) => document.getElementById("judged-" + name));
    const options = (names) => names.map((name) => element("option", name));
    const word = (verdict) => verdict === null ? "unscored" : verdict ? "found" : "not found";
    function claimLine(claim) {
      const line = element("details", undefined, "claim " + (claim.judged ? "right" : claim.judged === null ? "" : "wrong"));
      const apart = claim.judged_rules !== null && claim.judged !== null && claim.judged_rules !== claim.judged;
      const title = element("summary", claim.text || "(nothing could be listed) ");
      title.append(element("small", " " + word(claim.judged) + (apart ? "; by the rules " + word(claim.judged_rules) : "")));
      line.append(title, element("p", claim.reason || "no reason given"));
      return line;
    }
    function showClaims() {
      const all = documents[of.value][by.value] || [];
      const chosen = all.filter((claim) => !which.value || (which.value === "false" ? claim.judged === false
        : claim.judged_rules !== null && claim.judged !== claim.judged_rules));
      const parts = new Map();
      for (const claim of chosen) {
        const name = (claim.metric + ", " + claim.item).replaceAll("_", " ");
        if (!parts.has(name)) parts.set(name, []);
        parts.get(name).push(claim);
      }
      document.getElementById("judged-claims").replaceChildren(...[...parts].flatMap(([name, claims]) =>
        [element("h4", name + ": " + claims.filter((claim) => claim.judged).length + " of " + claims.length + " found"), ...claims.map(claimLine)]));
      document.getElementById("judged-count").textContent = chosen.length + " of " + all.length + " shown";
    }
    function chooseDocument() {
      const kept = by.value, names = Object.keys(documents[of.value]);
      by.replaceChildren(...options(names));
      if (names.includes(kept)) by.value = kept;
      showClaims();
    }
    of.replaceChildren(...options(Object.keys(documents)));
    of.addEventListener("input", chooseDocument);
    for (const input of [by, which]) input.addEventListener("input", showClaims);
    chooseDocument();
  }

  // On a narrow page the contents are a menu.
  const menu = document.querySelector("nav"), opener = menu.querySelector("button");
  function toggle(open) {
    menu.classList.toggle("open", open);
    opener.setAttribute("aria-expanded", String(open));
  }
  opener.addEventListener("click", () => toggle(!menu.classList.contains("open")));
  menu.addEventListener("click", (event) => { if (event.target.closest("a")) toggle(false); });

  // A link into a folded part opens it; the contents highlight the current section.
  function unfold() {
    const at = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (at && at.classList.contains("subsection")) for (const part of at.querySelectorAll(":scope > details")) part.open = true;
  }
  addEventListener("hashchange", unfold);
  unfold();
  const links = new Map([...document.querySelectorAll("nav a[href^='#']")].map((link) => [link.hash.slice(1), link]));
  const seen = new IntersectionObserver((entries) => {
    for (const entry of entries) {
      if (!entry.isIntersecting || !links.has(entry.target.id)) continue;
      for (const link of links.values()) link.removeAttribute("aria-current");
      links.get(entry.target.id).setAttribute("aria-current", "true");
    }
  }, { rootMargin: "0px 0px -75% 0px" });
  for (const part of document.querySelectorAll("main > [id]")) seen.observe(part);
})();
