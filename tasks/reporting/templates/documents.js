// Texts are inserted through textContent only, so they are never parsed as markup.
(function () {
  const data = JSON.parse(document.getElementById("data").textContent);
  const byId = (id) => document.getElementById(id);
  const system = byId("system"), chosen = byId("document");
  const CLASS = new Map([[1, "yes"], [0, "no"], [2, "added"], [null, "unknown"]]);
  // Claims judged against the source have verdicts of their own.
  const SOURCE = { yes: "supported", no: "contradicted", added: "not in the source", unknown: "not judged" };
  const TICK = { yes: "✓", no: "✗", added: "+", unknown: "?" };
  const WORD = { yes: "yes", no: "no", unknown: "not judged" };

  for (const [number, one] of data.documents.entries()) {
    const option = element("option", one.id);
    option.value = number;
    chosen.append(option);
  }

  // What the claims of a sentence say together: yes, no, mixed, unknown, or nothing.
  function verdict(claims, at) {
    const found = new Set(claims.filter((claim) => claim[2] === at).map((claim) => claim[1]));
    if (!found.size) return "";
    if ((found.has(1) && found.has(0)) || found.has(2)) return "mixed";
    return found.has(0) ? "no" : found.has(1) ? "yes" : "unknown";
  }

  function sourcePane(one) {
    byId("source").replaceChildren(...one.source.map((text, number) => {
      const unit = element("div", undefined, "unit"), line = element("span");
      unit.id = "unit-" + number;
      const speaker = text.match(/^(\[[^\]]{1,30}\]|[A-Z][\w .-]{0,30}:)\s*/);
      if (speaker) line.append(element("span", speaker[0], "speaker"));
      line.append(speaker ? text.slice(speaker[0].length) : text);
      unit.append(element("b", String(number)), line);
      return unit;
    }));
  }

  function textPane(pane, parts, claims, output) {
    pane.replaceChildren(...parts.map(([text, isSentence], at) => {
      if (!isSentence) return document.createTextNode(text);
      const span = element("span", undefined, "sentence " + verdict(claims, at));
      span.dataset.at = at;
      const stated = (output && output.statements || []).filter((statement) => statement[2] === at);
      if (stated.some((statement) => statement[1] === 0)) {
        span.classList.add("unsupported");
        span.title = "its citations do not support it";
      }
      const against = (output && output.grounded || []).filter((claim) => claim[2] === at && (claim[1] === 0 || claim[1] === 2));
      if (against.length) {
        span.classList.add(against.some((claim) => claim[1] === 0) ? "contradicted" : "beyond-source");
        span.title = against.map((claim) => SOURCE[CLASS.get(claim[1])] + ": " + claim[0]).join("\n");
      }
      if (output && output.marks) cited(span, text, output.marks.filter((mark) => mark[0] === at));
      else span.textContent = text;
      return span;
    }));
  }

  function cited(span, text, marks) {
    let end = 0;
    for (const found of text.matchAll(/\[\s*(\d+(?:\s*[,;–-]\s*\d+)*)\s*\]/g)) {
      span.append(text.slice(end, found.index));
      end = found.index + found[0].length;
      for (const number of numbersOf(found[1])) {
        const button = element("button", "[" + number + "]", "citation"), mark = marks.find((one) => one[1] === number);
        button.type = "button";
        button.title = mark && mark[2] === 0 ? "does not support the statement, or is not needed" : "sentence " + number + " of the source";
        if (mark && mark[2] === 0) button.classList.add("wrong");
        button.addEventListener("click", (event) => { point(byId("unit-" + number)); event.stopPropagation(); });
        span.append(button);
      }
    }
    span.append(text.slice(end));
  }

  function numbersOf(mark) {
    const numbers = [];
    for (const part of mark.split(/[,;]/)) {
      const [first, last] = part.match(/\d+/g).map(Number);
      for (let n = first; n <= (last === undefined ? first : Math.min(last, first + 50)); n++) numbers.push(n);
    }
    return numbers;
  }

  function point(target) {
    if (!target) return;
    const pane = target.closest(".pane, ol, ul");
    for (const other of document.querySelectorAll(".at")) other.classList.remove("at");
    target.classList.add("at");
    pane.scrollTo({ top: target.offsetTop - pane.offsetTop - pane.clientHeight / 3, behavior: "smooth" });
  }

  function claimList(list, claims, pane, words = WORD) {
    list.replaceChildren(...claims.map(([text, value, at, section, reason]) => {
      const kind = CLASS.get(value), item = element("li"), tick = element("i", TICK[kind], "tick " + kind);
      tick.title = words[kind];
      item.append(tick, element("span", text));
      const note = [words === SOURCE && kind !== "yes" ? words[kind] : "", section === "all" ? "" : section.replaceAll("_", " "), reason || ""].filter(Boolean).join(": ");
      if (note) item.append(element("small", note));
      if (at !== null) {
        item.dataset.at = at;
        item.addEventListener("click", () => { point(pane.querySelector('[data-at="' + at + '"]')); item.classList.add("at"); });
      }
      return item;
    }));
    if (!claims.length) list.append(element("li", "none listed"));
  }

  // What a measure judged of the document beside claims: a list of units, under headings where the panel has groups.
  function panelPart(panel, given) {
    const part = element("article"), box = element("div", undefined, "units");
    part.append(element("h3", panel.title), ...(panel.hint ? [element("p", panel.hint, "hint")] : []), box);
    const listed = given.filter((unit) => !panel.lacking || unit[2] !== 1);
    for (const group of panel.groups.length ? [...panel.groups, ""] : [null]) {
      const units = listed.filter((unit) => group === null || unit[3] === group);
      if (!units.length) continue;
      if (group !== null) box.append(element("p", (group || "not graded") + " (" + units.length + ")", "importance " + (group || "other")));
      const list = element("ul");
      for (const [, text, value, , note, weight] of units) {
        const kind = CLASS.get(value), item = element("li");
        item.append(element("i", TICK[kind], "tick " + kind), element("span", text));
        item.append(element("small", [weight === null ? "" : "weight " + weight, note].filter(Boolean).join("; ")));
        list.append(item);
      }
      box.append(list);
    }
    if (!listed.length) box.append(element("p", given.length ? "none" : "not judged", "hint"));
    return part;
  }

  function tile(part, whole, label) {
    const box = element("div", undefined, "tile");
    box.append(element("b", whole ? part + " of " + whole : "–"), element("span", label));
    return box;
  }

  // Each panel with the document's units of a system, where the document has any.
  function panels(one, number) {
    const shown = [...data.panels.entries()].filter(([at]) => one.units[at].length);
    return shown.map(([at, panel]) => [panel, one.units[at].filter((unit) => unit[0] === number)]);
  }

  function tally(one, output, number) {
    const count = (claims) => [claims.filter((claim) => claim[1] === 1).length, claims.filter((claim) => claim[1] !== null).length];
    const tiles = data.claims && one.reference ? [tile(...count(output.own), "claims of the output are in the reference"), tile(...count(output.recalled), "claims of the reference are in the output")] : [];
    if (output.grounded) tiles.push(tile(...count(output.grounded), "claims of the output are in the source" + (count(output.grounded)[1] ? ", " + output.grounded.filter((claim) => claim[1] === 0).length + " contradicted by it" : "")));
    for (const [panel, given] of panels(one, number)) {
      const judged = given.filter((unit) => unit[2] !== null), counted = judged.filter((unit) => unit[2] === (panel.lacking ? 0 : 1));
      const first = panel.groups[0], more = first && judged.length ? ", " + counted.filter((unit) => unit[3] === first).length + " of them " + first : "";
      tiles.push(tile(counted.length, judged.length, panel.tally + more));
    }
    if (output.statements) tiles.push(tile(...count(output.statements), "statements are supported by their citations"));
    byId("tally").replaceChildren(...tiles);
  }

  function show() {
    const one = data.documents[chosen.value], number = Number(system.value), output = one.outputs[number];
    const given = output || { text: [["This system has no output for this document.", 0]], own: [], recalled: [] };
    sourcePane(one);
    textPane(byId("output"), given.text, one.reference ? given.own : given.grounded || [], given);
    if (one.reference) textPane(byId("reference"), one.reference, given.recalled, null);
    else byId("reference").replaceChildren(element("p", "This document has no reference.", "hint"));
    claimList(byId("own"), given.own, byId("output"));
    claimList(byId("recalled"), given.recalled, byId("reference"));
    for (const part of ["own-part", "recalled-part"]) byId(part).hidden = !(data.claims && one.reference);
    byId("grounded-part").hidden = !given.grounded;
    claimList(byId("grounded"), given.grounded || [], byId("output"), SOURCE);
    byId("panels").replaceChildren(...panels(one, number).map(([panel, units]) => panelPart(panel, units)));
    tally(one, given, number);
    for (const id of ["source", "output", "reference"]) byId(id).scrollTop = 0;
    byId("previous").disabled = Number(chosen.value) === 0;
    byId("next").disabled = Number(chosen.value) === data.documents.length - 1;
  }
  for (const select of [system, chosen]) select.addEventListener("change", show);
  for (const [id, step] of [["previous", -1], ["next", 1]]) byId(id).addEventListener("click", () => { chosen.value = Number(chosen.value) + step; show(); });
  for (const [id, list] of [["output", "own"], ["reference", "recalled"]]) {
    byId(id).addEventListener("click", (event) => {
      const sentence = event.target.closest(".sentence");
      if (sentence) point(byId(list).querySelector('[data-at="' + sentence.dataset.at + '"]'));
    });
  }

  show();
  if (!data.judged) return;

  // The table of all claims and facts.
  const rows = [];
  for (const [place, one] of data.documents.entries()) {
    for (const [number, output] of Object.entries(one.outputs)) {
      for (const [kind, claims] of [["claim of the output", output.own], ["claim of the reference", output.recalled], ["cited statement", output.statements || []]]) {
        for (const [text, value, , section, reason] of claims) rows.push({ place, number, document: one.id, system: data.systems[number], kind, section: section.replaceAll("_", " "), verdict: WORD[CLASS.get(value)], weight: "", text, reason: reason || "" });
      }
      for (const [text, value, , section, reason] of output.grounded || []) {
        rows.push({ place, number, document: one.id, system: data.systems[number], kind: "claim against the source", section: section.replaceAll("_", " "), verdict: SOURCE[CLASS.get(value)], weight: "", text, reason: reason || "" });
      }
    }
    for (const [at, panel] of data.panels.entries()) {
      for (const [number, text, value, section, note, weight] of one.units[at]) {
        rows.push({ place, number: String(number), document: one.id, system: data.systems[number], kind: panel.kind, section, verdict: WORD[CLASS.get(value)], weight: weight === null ? "" : weight, text, reason: note });
      }
    }
  }
  const MOST = 400, table = byId("claim-table"), filters = ["words", "of-system", "of-kind", "of-verdict"].map(byId);
  let sorted = { key: null, down: false };
  function fill() {
    const [words, ofSystem, kind, value] = filters.map((input) => input.value), sought = words.trim().toLowerCase();
    const found = rows.filter((row) => (!ofSystem || row.number === ofSystem) && (!kind || row.kind === kind) && (!value || row.verdict === value)
      && (!sought || (row.text + " " + row.reason + " " + row.document).toLowerCase().includes(sought)));
    if (sorted.key) {
      const sign = sorted.down ? -1 : 1, key = sorted.key;
      found.sort((a, b) => sign * (typeof a[key] === "number" && typeof b[key] === "number" ? a[key] - b[key] : String(a[key]).localeCompare(String(b[key]), undefined, { numeric: true })));
    }
    table.tBodies[0].replaceChildren(...found.slice(0, MOST).map((row) => {
      const line = element("tr");
      for (const key of ["document", "system", "kind", "section", "verdict", "weight", "text", "reason"]) line.append(element("td", String(row[key])));
      const kindOf = { yes: "yes", supported: "yes", no: "no", contradicted: "no", [SOURCE.added]: "added" }[row.verdict] || "unknown", mark = element("span", row.verdict, "verdict " + kindOf);
      line.cells[4].replaceChildren(mark);
      line.addEventListener("click", () => { chosen.value = row.place; system.value = row.number; show(); byId("documents").scrollIntoView(); });
      return line;
    }));
    byId("count").textContent = found.length + " of " + rows.length + (found.length > MOST ? ", the first " + MOST + " are shown" : "");
  }
  for (const input of filters) input.addEventListener("input", fill);
  for (const header of table.tHead.rows[0].cells) {
    const button = element("button", header.textContent);
    button.type = "button";
    button.addEventListener("click", () => {
      sorted = { key: header.dataset.key, down: sorted.key === header.dataset.key && !sorted.down };
      for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
      header.setAttribute("aria-sort", sorted.down ? "descending" : "ascending");
      fill();
    });
    header.replaceChildren(button);
  }
  fill();
})();
