"use strict";
// Keeps the list of runs up to date, and sorts and filters it; without script the page is the list as it was loaded.
const rows = document.getElementById("rows");
const filter = document.getElementById("filter");
const compare = document.getElementById("compare");
const count = document.getElementById("count");
const sorted = { column: 0, isAscending: true };
let chosen = new Set();

function arrange() {
  const lines = [...rows.querySelectorAll("tr[data-name]")];
  const wanted = filter.value.trim().toLowerCase();
  for (const line of lines) line.hidden = !line.textContent.toLowerCase().includes(wanted);
  for (const time of rows.querySelectorAll("time")) time.textContent = new Date(time.dataset.seconds * 1000).toLocaleString();
  if (sorted.column) {
    const key = (line) => line.children[sorted.column].dataset.key;
    const sign = sorted.isAscending ? 1 : -1;
    lines.sort((a, b) => {
      const [x, y] = [key(a), key(b)];
      if (x === "" || y === "") return (x === "") - (y === "");
      return sign * (isNaN(x) || isNaN(y) ? x.localeCompare(y) : x - y);
    });
    rows.append(...lines);
  }
  for (const box of rows.querySelectorAll("input")) box.checked = chosen.has(box.value);
  const shown = lines.filter((line) => !line.hidden).length;
  count.textContent = shown === lines.length ? `${shown} runs` : `${shown} of ${lines.length} runs`;
  compare.disabled = chosen.size < 2;
}

async function refresh() {
  try {
    const answer = await fetch("/rows");
    if (answer.ok) {
      const focused = document.activeElement && rows.contains(document.activeElement) ? document.activeElement.value : null;
      rows.innerHTML = await answer.text();
      arrange();
      if (focused) [...rows.querySelectorAll("input")].find((box) => box.value === focused)?.focus();
    }
    document.body.classList.toggle("stale", !answer.ok);
  } catch {
    count.textContent = "the server has stopped; this list is as it was";
  }
}

filter.addEventListener("input", arrange);
rows.addEventListener("change", (event) => {
  chosen[event.target.checked ? "add" : "delete"](event.target.value);
  compare.disabled = chosen.size < 2;
});
for (const button of document.querySelectorAll("th button")) {
  button.addEventListener("click", () => {
    const column = Number(button.dataset.column);
    sorted.isAscending = sorted.column === column ? !sorted.isAscending : !button.parentElement.classList.contains("amount");
    sorted.column = column;
    for (const head of document.querySelectorAll("th")) head.removeAttribute("aria-sort");
    button.parentElement.setAttribute("aria-sort", sorted.isAscending ? "ascending" : "descending");
    arrange();
  });
}
arrange();
setInterval(() => { if (!document.hidden) refresh(); }, 2000);
