// Answers a CSV file chunk by chunk, and appends the answers to its rows.
const ROWS_AT_ONCE = 200;
const CHARACTERS_AT_ONCE = 1_000_000;
const MOST_TRIES = 8;
const DELIMITERS = [",", ";", "\t", "|"];
const PLACE = /row \d+( \(line \d+\))?(: |, )/g;

/** Read a text as what its bytes are: as its mark of byte order says, else UTF-8, or Windows-1252 if it is none. */
export function decodeText(bytes) {
  const [first, second] = new Uint8Array(bytes);
  const mark = { "255,254": "utf-16le", "254,255": "utf-16be" }[`${first},${second}`];
  if (mark) return new TextDecoder(mark).decode(bytes);
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    return new TextDecoder("windows-1252").decode(bytes);
  }
}

/** Choose the delimiter at which the first line names most of the columns; a comma if they are named at none. */
function findDelimiter(text, columns) {
  const named = (delimiter) => (records(text, delimiter).next().value?.cells ?? []).filter((cell) => columns.includes(cell.trim())).length;
  return DELIMITERS.toSorted((a, b) => named(b) - named(a))[0];
}

/** Read records with the text they were written as; empty lines are passed over, as the server does. */
function* records(text, delimiter = ",") {
  const other = `[^${delimiter === "|" ? "\\|" : delimiter}\\r\\n]*`;
  const cell = new RegExp(`(?:"([^"]*(?:""[^"]*)*)"?(${other})|(${other}))(${delimiter === "|" ? "\\|" : delimiter}|\\r\\n|\\n|\\r|$)`, "y");
  let [start, cells] = [0, []];
  for (;;) {
    const [, quoted, rest, plain, end] = cell.exec(text);
    const next = cell.lastIndex;
    cells.push(quoted === undefined ? plain : quoted.replaceAll('""', '"') + rest);
    if (end !== delimiter) {
      const raw = text.slice(start, next - end.length);
      if (raw) yield { raw, cells, next };
      [start, cells] = [next, []];
      if (end === "") return;
    }
  }
}

/**
 * Give the file with its answers, how many rows it has and which were bad; `ask` sends CSV to the model, whose `columns`
 * tell what stands between the cells.
 */
export async function answerFile(text, { columns, ask, signal, tell }) {
  const delimiter = findDelimiter(text, columns);
  const [header, ...rows] = records(text, delimiter);
  if (!rows.length) throw new Error("the file has no rows below its header");
  const found = [];
  let most = ROWS_AT_ONCE;
  for (let at = 0, tries = 0; at < rows.length; ) {
    const chunk = rows.slice(at, at + most);
    while (chunk.length > 1 && chunk.at(-1).next - chunk[0].next > CHARACTERS_AT_ONCE) chunk.length = Math.ceil(chunk.length / 2);
    try {
      const body = [header, ...chunk].map(({ raw, cells }) => (delimiter === "," ? raw : cells.map((each) => quoted(each)).join(","))).join("\n");
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
  return joined(header, rows, found, delimiter);
}

function joined(header, rows, found, delimiter) {
  const names = [...new Set(found.flatMap((each) => [...each.keys()].filter((name) => name !== "error")))];
  const bad = found.flatMap((each, at) => (each.get("error") ? [{ row: at + 1, error: each.get("error").replace(PLACE, "") }] : []));
  if (bad.length) names.push("error");
  for (const { row, error } of bad) found[row - 1].set("error", error);
  const free = names.map((name) => (header.cells.includes(name) ? `burnish_${name}` : name));
  const lines = rows.map(({ raw, cells }, at) => raw + delimiter.repeat(Math.max(0, header.cells.length - cells.length)) + names.map((name) => delimiter + quoted(found[at].get(name) ?? "", delimiter)).join(""));
  return { content: [[header.raw, ...free.map((name) => quoted(name, delimiter))].join(delimiter), ...lines, ""].join("\n"), numRows: rows.length, bad };
}

const quoted = (cell, delimiter = ",") => (/["\r\n]/.test(cell) || cell.includes(delimiter) ? `"${cell.replaceAll('"', '""')}"` : cell);
