// Answers a CSV file chunk by chunk, and appends the answers to its rows.
const ROWS_AT_ONCE = 200;
const CHARACTERS_AT_ONCE = 1_000_000;
const MOST_TRIES = 8;
const CELL = /(?:"([^"]*(?:""[^"]*)*)"?([^,\r\n]*)|([^,\r\n]*))(,|\r\n|\n|\r|$)/y;
const PLACE = /row \d+( \(line \d+\))?(: |, )/g;

/** Read records with the text they were written as; empty lines are passed over, as the server does. */
function* records(text) {
  let [start, cells] = [0, []];
  CELL.lastIndex = 0;
  for (;;) {
    const [, quoted, rest, plain, end] = CELL.exec(text);
    const next = CELL.lastIndex;
    cells.push(quoted === undefined ? plain : quoted.replaceAll('""', '"') + rest);
    if (end !== ",") {
      const raw = text.slice(start, next - end.length);
      if (raw) yield { raw, cells, next };
      [start, cells] = [next, []];
      if (end === "") return;
    }
  }
}

/** Give the file with its answers, how many rows it has and which were bad; `ask` sends CSV to the model. */
export async function answerFile(text, { ask, signal, tell }) {
  const [header, ...rows] = records(text);
  if (!rows.length) throw new Error("the file has no rows below its header");
  const found = [];
  let most = ROWS_AT_ONCE;
  for (let at = 0, tries = 0; at < rows.length; ) {
    const chunk = rows.slice(at, at + most);
    while (chunk.length > 1 && chunk.at(-1).next - chunk[0].next > CHARACTERS_AT_ONCE) chunk.length = Math.ceil(chunk.length / 2);
    try {
      const body = [header, ...chunk].map(({ raw }) => raw).join("\n");
      const answer = await (await ask("?partial=true", { method: "POST", headers: { "content-type": "text/csv" }, body, signal })).text();
      const [names, ...answers] = records(answer);
      if (answers.length !== chunk.length) throw new Error(`${chunk.length} rows got ${answers.length} answers; the file cannot be put together`);
      found.push(...answers.map(({ cells }) => new Map(names.cells.map((name, place) => [name, cells[place]]))));
      [at, tries] = [at + chunk.length, 0];
      tell(at, rows.length);
    } catch (error) {
      if (![413, 503].includes(error.status) || ++tries > MOST_TRIES) throw error;
      if (chunk.length > 1) most = Math.ceil(chunk.length / 2);
      await new Promise((resolve) => setTimeout(resolve, 1000 * Math.min(5, error.retryAfter || 0.1)));
    }
  }
  return joined(header, rows, found);
}

function joined(header, rows, found) {
  const names = [...new Set(found.flatMap((each) => [...each.keys()].filter((name) => name !== "error")))];
  const bad = found.flatMap((each, at) => (each.get("error") ? [{ row: at + 1, error: each.get("error").replace(PLACE, "") }] : []));
  if (bad.length) names.push("error");
  for (const { row, error } of bad) found[row - 1].set("error", error);
  const free = names.map((name) => (header.cells.includes(name) ? `burnish_${name}` : name));
  const lines = rows.map(({ raw, cells }, at) => raw + ",".repeat(Math.max(0, header.cells.length - cells.length)) + names.map((name) => `,${quoted(found[at].get(name) ?? "")}`).join(""));
  return { content: [`${header.raw},${free.map(quoted).join(",")}`, ...lines, ""].join("\n"), numRows: rows.length, bad };
}

const quoted = (cell) => (/[",\r\n]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell);
