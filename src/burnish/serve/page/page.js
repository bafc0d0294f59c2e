// Puts the page together from the signature of a model, asks the server and shows what it says.
import { measureOf, show, showRanking } from "./answers.js";
import { Field, make } from "./fields.js";
import { answerFile, decodeText } from "./file.js";
import { explain } from "./why.js";

const LIVE_MILLISECONDS = 150;
const KINDS = ["binary", "multiclass", "multilabel", "regression"];
const BLANKS = ["[MASK]", "<mask>"];
const at = (id) => document.getElementById(id);
const state = { key: "", language: "curl" };

class Refused extends Error {
  constructor(status, sentence, { rows = [], retryAfter = 0 } = {}) {
    super(sentence);
    Object.assign(this, { status, rows, retryAfter });
  }
}

async function ask(path, { headers, ...options } = {}) {
  const authorization = state.key && { authorization: `Bearer ${state.key}` };
  const answer = await fetch(path, { ...options, headers: { ...headers, ...authorization } }).catch((error) => {
    throw error.name === "AbortError" ? error : new Refused(0, "the server does not answer; it may have been stopped");
  });
  if (answer.ok) return answer;
  const { error = answer.statusText, rows } = await answer.json().catch(() => ({}));
  throw new Refused(answer.status, error, { rows, retryAfter: Number(answer.headers.get("retry-after")) });
}

const address = () => `v1/models/${encodeURIComponent(state.name)}`;

async function predict(instances, { isPartial = false, signal } = {}) {
  const request = { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify({ instances }), signal };
  return (await (await ask(`${address()}:predict${isPartial ? "?partial=true" : ""}`, request)).json()).predictions;
}

/** Run what may be refused, and show why it was: at its field, as a question for the key, or above everything. */
async function attempt(work, { shouldFocus = false } = {}) {
  try {
    at("problem").textContent = "";
    await work();
  } catch (error) {
    if (error.name === "AbortError") return;
    const wrong = new Map(state.fields?.map((field) => [field, (error.rows ?? []).filter((each) => each.field === field.name)]));
    for (const [field, rows] of wrong) field.refuse(rows.map((each) => each.error).join("; "));
    const first = [...wrong].find(([, rows]) => rows.length)?.[0];
    if (shouldFocus) first?.control.focus();
    if (!first) at("problem").textContent = error.message;
    at("access").hidden = at("access").hidden && error.status !== 401;
    if (error.status === 401) at("key").focus();
  }
}

async function load() {
  const { models } = await (await ask("v1/models")).json();
  const artifact = (name) => name.slice(0, name.lastIndexOf("."));
  const groups = Map.groupBy(models, (name) => (artifact(name) && models.filter((each) => artifact(each) === artifact(name)).length > 1 ? artifact(name) : name));
  const option = (name, text) => make("option", { value: name }, text);
  const choices = [...groups].map(([group, names]) => (names.length > 1 ? make("optgroup", { label: group }, ...names.map((name) => option(name, name.slice(group.length + 1)))) : option(group, group)));
  at("model").replaceChildren(...choices);
  at("access").hidden = true;
  at("chooser").hidden = models.length < 2;
  const wanted = decodeURIComponent(location.hash.slice(1));
  at("model").value = models.includes(wanted) ? wanted : models[0];
  await choose();
}

async function choose() {
  state.name = at("model").value;
  const [signature, { rows }] = await Promise.all(["signature", "examples"].map(async (what) => (await ask(`${address()}/${what}`)).json()));
  const isSearch = signature.answer.kind === "embedding";
  state.signature = signature;
  state.fields = signature.inputs.map((spec, number) => new Field(spec, number));
  state.passages = isSearch ? new Field({ name: "passages to search", kind: "texts", values: [], value_shares: {} }, "passages") : null;
  state.isLive = state.fields.every((field) => !field.isProse);
  state.blank = signature.answer.kind === "tokens" ? await findBlank() : null;
  at("title").textContent = document.title = state.name;
  const flavour = KINDS.includes(signature.kind) ? `, ${signature.kind}` : "";
  const rowsSeen = signature.training_rows ? `; learned from ${signature.training_rows.toLocaleString("en")} rows` : "";
  at("about").textContent = signature.task.replaceAll("_", " ") + flavour + rowsSeen;
  at("answer-title").textContent = KINDS.includes(signature.kind) && signature.answer.column ? `Answer: ${signature.answer.column}` : "Answer";
  at("columns").textContent = signature.inputs.map(({ name }) => name).join(", ");
  at("fields").replaceChildren(...[...state.fields, ...(isSearch ? [state.passages] : [])].map(({ element }) => element));
  state.passages?.write(rows.slice(1).map((row) => Object.values(row)[0]));
  showExamples(rows.map(withBlank));
  for (const id of ["bad", "file-said"]) at(id).replaceChildren();
  at("download").hidden = true;
  at("work").hidden = false;
  if (rows.length) await fill(withBlank(rows[0]));
}

/** Find out how the model's tokenizer writes a blank: only that is filled. */
async function findBlank() {
  const column = state.signature.inputs[0].name;
  const answers = await predict(BLANKS.map((text) => ({ [column]: text })), { isPartial: true });
  return BLANKS.find((_, place) => answers[place].guesses?.length) ?? null;
}

function withBlank(row) {
  if (!state.blank) return row;
  const [[column, text]] = Object.entries(row);
  const words = text.split(" ");
  words[Math.floor(words.length / 2)] = state.blank;
  return { ...row, [column]: words.join(" ") };
}

function showExamples(rows) {
  const texts = (row) => state.fields.filter((field) => field.isProse && row[field.name]).map((field) => [row[field.name]].flat().join(" "));
  const name = (row, number) => texts(row).toSorted((a, b) => b.length - a.length)[0]?.slice(0, 60) ?? `Example ${number + 1}`;
  const buttons = rows.map((row, number) => {
    const button = make("button", { type: "button" }, name(row, number));
    button.addEventListener("click", () => fill(row));
    return button;
  });
  if (state.blank) {
    const button = make("button", { type: "button" }, `Insert ${state.blank}`);
    const { control } = state.fields[0];
    button.addEventListener("click", () => { control.setRangeText(state.blank, control.selectionStart, control.selectionEnd, "end"); control.focus(); });
    buttons.push(button);
  }
  at("examples").replaceChildren(...buttons);
}

async function fill(row) {
  for (const field of state.fields) field.write(row[field.name]);
  await attempt(run);
}

const readRow = () => Object.fromEntries(state.fields.map((field) => [field.name, field.parse(field.raw)]).filter(([, value]) => value !== undefined));

function instances() {
  const row = readRow(), [query] = state.fields;
  return state.passages ? [row, ...state.passages.parse(state.passages.raw).map((text) => ({ [query.name]: text }))] : [row];
}

async function run() {
  state.controller?.abort();
  const controller = (state.controller = new AbortController());
  for (const field of state.fields) field.refuse("");
  at("result").classList.add("busy");
  showCode();
  try {
    const asked = instances();
    const answers = await predict(asked, { signal: controller.signal });
    Object.assign(state, { row: asked[0], answer: answers[0] });
    const { headline, note, parts } = state.passages ? showRanking(answers, state.passages.parse(state.passages.raw)) : show(state.signature, state.row, state.answer);
    at("headline").replaceChildren(headline, ...(note ? [" ", make("small", {}, note)] : []));
    at("answer").replaceChildren(...parts);
    at("why").replaceChildren();
    at("ask-why").hidden = !measureOf(state.signature, state.row, state.answer);
    at("raw").lastElementChild.textContent = JSON.stringify(answers, null, 1);
  } finally {
    if (state.controller === controller) at("result").classList.remove("busy");
  }
}

const CODE = {
  curl: (url, body) => `curl ${word(url)} -H 'content-type: application/json'${state.key && ' -H "authorization: Bearer $BURNISH_API_KEY"'} --data-raw ${word(JSON.stringify(body))}`,
  python: (url, body) => `import json
${state.key && "import os\n"}from urllib.request import Request, urlopen

headers = {"content-type": "application/json"}
${state.key && 'headers["authorization"] = "Bearer " + os.environ["BURNISH_API_KEY"]\n'}body = ${literal(body)}
request = Request(${literal(url)}, json.dumps(body).encode(), headers)
print(json.load(urlopen(request))["predictions"])
`,
};
const word = (text) => `'${text.replaceAll("'", "'\\''")}'`;

function literal(value) {
  if (Array.isArray(value)) return `[${value.map(literal).join(", ")}]`;
  if (value && typeof value === "object") return `{${Object.entries(value).map(([name, each]) => `${literal(name)}: ${literal(each)}`).join(", ")}}`;
  return typeof value === "boolean" ? (value ? "True" : "False") : JSON.stringify(value);
}

function showCode() {
  at("code").textContent = CODE[state.language](new URL(`${address()}:predict`, location.href.split("#")[0]).href, { instances: instances() });
}

async function copy(language) {
  state.language = language;
  showCode();
  const isCopied = await navigator.clipboard?.writeText(at("code").textContent).then(() => true, () => false);
  if (!isCopied) getSelection().selectAllChildren(at("code"));
  at("copied").textContent = isCopied ? "copied" : "selected: press Ctrl+C";
}

async function answerChosen(file) {
  const controller = new AbortController();
  at("cancel").onclick = () => controller.abort();
  for (const id of ["cancel", "progress"]) at(id).hidden = false;
  at("download").hidden = true;
  at("bad").replaceChildren();
  at("file-said").textContent = `${file.name}: asking…`;
  const tell = (done, all) => Object.assign(at("progress"), { value: done, max: all });
  tell(0, 1);
  try {
    const result = await answerFile(decodeText(await file.arrayBuffer()), { columns: state.signature.inputs.map(({ name }) => name), ask: (query, options) => ask(`${address()}:predict${query}`, options), signal: controller.signal, tell });
    URL.revokeObjectURL(at("download").href);
    Object.assign(at("download"), { href: URL.createObjectURL(new Blob([result.content], { type: "text/csv" })), download: file.name.replace(/(\.csv)?$/i, ".predictions.csv"), hidden: false });
    at("download").textContent = `Download ${at("download").download}`;
    at("file-said").textContent = `${result.numRows.toLocaleString("en")} rows answered${result.bad.length ? `, ${result.bad.length.toLocaleString("en")} of them bad` : ""}`;
    at("bad").replaceChildren(...result.bad.slice(0, 100).map(({ row, error }) => make("li", {}, `row ${row}: ${error}`)));
  } catch (error) {
    at("file-said").textContent = error.name === "AbortError" ? "stopped" : error.message;
    if (error.status === 401) throw error;
  } finally {
    for (const id of ["cancel", "progress"]) at(id).hidden = true;
    at("csv").value = "";
  }
}

let timer;
at("form").addEventListener("submit", (event) => { event.preventDefault(); attempt(run, { shouldFocus: true }); });
at("form").addEventListener("keydown", (event) => { if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) at("form").requestSubmit(); });
at("form").addEventListener("input", () => {
  clearTimeout(timer);
  if (state.isLive) timer = setTimeout(() => attempt(run), LIVE_MILLISECONDS);
  else showCode();
});
at("access").addEventListener("submit", (event) => { event.preventDefault(); state.key = at("key").value.trim(); attempt(load); });
at("model").addEventListener("change", () => { history.replaceState(null, "", `#${encodeURIComponent(at("model").value)}`); attempt(choose); });
at("ask-why").addEventListener("click", () => attempt(async () => at("why").replaceChildren(...(await explain({ ...state, predict })))));
for (const button of document.querySelectorAll("[data-language]")) button.addEventListener("click", () => copy(button.dataset.language));
at("csv").addEventListener("change", () => { if (at("csv").files[0]) attempt(() => answerChosen(at("csv").files[0])); });
for (const name of ["dragover", "dragleave", "drop"]) at("file").addEventListener(name, (event) => { event.preventDefault(); at("file").classList.toggle("over", name === "dragover"); });
at("file").addEventListener("drop", (event) => { if (event.dataTransfer.files[0]) attempt(() => answerChosen(event.dataTransfer.files[0])); });
attempt(load);
