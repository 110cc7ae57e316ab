// The oracle's page: one recorded situation after the other, and the score by idea.
// A question is drawn anew for each answer; nothing is kept when the page is left.
(() => {
  "use strict";
  const place = document.getElementById("oracle");
  const questions = [...window.oracleQuestions];
  const score = new Map(); // idea -> [right, asked]
  let number = 0;
  let chosen = null;

  for (let last = questions.length - 1; last > 0; last--) { // another order each time
    const other = Math.floor(Math.random() * (last + 1));
    [questions[last], questions[other]] = [questions[other], questions[last]];
  }
  questions.sort((one, other) => one.level - other.level);

  const make = (tag, words = "", kind = "") => {
    const made = document.createElement(tag);
    made.textContent = words;
    if (kind) made.className = kind;
    return made;
  };

  function table(rows) {
    const made = make("table", "", "docutils align-default");
    rows.forEach((row, line) => {
      const drawn = made.appendChild(make("tr"));
      for (const cell of row) drawn.appendChild(make(line ? "td" : "th", cell));
    });
    return made;
  }

  function option(question, at) {
    const [words, belief] = question.options[at];
    const button = make("button", "", "oracle-option");
    button.type = "button";
    button.append(make("b", `${String.fromCharCode(65 + at)}  ${words}`));
    if (chosen === null) {
      button.addEventListener("click", () => answer(at));
      return button;
    }
    button.disabled = true;
    if (at === question.right) {
      button.classList.add("is-right");
      button.append(make("span", at === chosen ? "✓ so it was, as you said" : "✓ so it was"));
    } else if (at === chosen) {
      button.classList.add("is-wrong");
      button.append(make("span", `✗ your answer. ${belief}`));
    }
    return button;
  }

  function answer(at) {
    const question = questions[number];
    const [right, asked] = score.get(question.idea) ?? [0, 0];
    chosen = at;
    score.set(question.idea, [right + (at === question.right), asked + 1]);
    draw();
    place.querySelector(".oracle-next").focus();
  }

  function outcome(question) {
    const why = make("p", question.why, "oracle-why");
    const shown = make("p", "A lab shows it: ");
    const link = shown.appendChild(make("a", question.section));
    link.href = question.address;
    const next = make("button", "next situation ▸", "oracle-next");
    next.type = "button";
    next.addEventListener("click", () => {
      number = (number + 1) % questions.length;
      chosen = null;
      draw();
      place.querySelector(".oracle-option").focus();
    });
    return [why, shown, next];
  }

  function scores() {
    const rows = [...score].map(([idea, [right, asked]]) => `${idea} ${right} of ${asked}`);
    return make("p", rows.length ? `So far: ${rows.join(" · ")}` : "", "oracle-score");
  }

  function draw() {
    const question = questions[number];
    const head = `${number + 1} of ${questions.length} · ${question.idea} · level ${question.level}`;
    const options = make("div", "", "oracle-options");
    question.options.forEach((_, at) => options.append(option(question, at)));
    place.replaceChildren(
      make("p", head, "oracle-head"),
      ...question.facts.map((fact) => make("p", fact, "oracle-fact")),
      ...(question.table.length ? [table(question.table)] : []),
      make("p", `▲ ${question.happens}`, "oracle-happens"),
      make("p", question.asks, "oracle-asks"),
      options,
      ...(chosen === null ? [] : outcome(question)),
      scores(),
    );
  }

  draw();
})();
