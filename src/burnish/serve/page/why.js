// Leave-one-out: asks for the row without each word, and without each column, and shows how the answer changes.
import { measureOf } from "./answers.js";
import { make, shown } from "./fields.js";

const MOST_WORDS = 60;
const MOST_LISTED = 8;

/** Ask for all variants of a row in one request; `measure` says which number of an answer counts. */
export async function explain({ signature, fields, row, answer, blank, predict }) {
  const measure = measureOf(signature, row, answer);
  const isOpen = (field) => field.name in row && !measure.fixed?.includes(field.name);
  const words = fields.filter((field) => field.isProse && isOpen(field)).flatMap((field) => wordsOf(field, [blank, ...(measure.spared?.split(/\s+/) ?? [])]));
  const columns = fields.filter((field) => !field.isProse && isOpen(field));
  const asked = [...words.slice(0, MOST_WORDS), ...columns.map((field) => ({ field, value: field.spec.is_required ? field.usual : undefined }))];
  if (!asked.length) return [make("p", {}, "There is nothing to leave out.")];
  const answers = await predict(asked.map(({ field, value }) => ({ ...row, [field.name]: value })), { isPartial: true });
  const base = measure.of(answer);
  for (const [at, each] of asked.entries()) each.influence = answers[at].error ? 0 : base - measure.of(answers[at]);
  const top = Math.max(...asked.map(({ influence }) => Math.abs(influence)), measure.least ?? 0.01);
  const listed = asked.toSorted((a, b) => Math.abs(b.influence) - Math.abs(a.influence)).slice(0, Math.max(MOST_LISTED, columns.length));
  const what = words.length ? (columns.length ? "word or column" : "word") : "column";
  const cut = words.length > MOST_WORDS ? ` Only the first ${MOST_WORDS} of ${words.length} words were left out.` : "";
  return [
    make("h3", { class: "below" }, `Leave-one-out: how the answer changes without this ${what}`),
    ...fields.filter((field) => asked.some((each) => each.word && each.field === field)).map((field) => shaded(field, asked.filter((each) => each.field === field), top)),
    make("ul", { class: "bars" }, ...listed.map((each) => diverging(each, top))),
    make("p", { class: "note" }, `How much each ${what} adds to ${measure.what}, which is ${shown(base)} with all of them.${cut}`),
  ];
}

function wordsOf(field, spared) {
  const found = [...field.raw.matchAll(/\S+/g)].filter(([word]) => !spared.some((each) => each && word.includes(each)));
  return found.map(({ 0: word, index }) => {
    const end = index + word.length;
    return { field, word, index, end, value: field.parse(field.raw.slice(0, index) + field.raw.slice(end).replace(/^[^\S\n]/, "")) };
  });
}

function shaded(field, words, top) {
  const paragraph = make("p", { class: "passage words" });
  let at = 0;
  for (const { word, index, end, influence } of words) {
    const span = make("span", { class: side(influence, top), title: shown(influence, 3) }, word);
    span.style.setProperty("--share", Math.abs(influence) / top);
    paragraph.append(field.raw.slice(at, index), span);
    at = end;
  }
  paragraph.append(field.raw.slice(at));
  return paragraph;
}

function diverging({ field, word, influence }, top) {
  const filled = make("i", { class: side(influence, top) });
  const half = `${(50 * Math.abs(influence)) / top}%`;
  Object.assign(filled.style, { width: half, left: influence >= 0 ? "50%" : `calc(50% - ${half})` });
  const amount = `${influence >= 0 ? "+" : "−"}${shown(Math.abs(influence), 3)}`;
  const track = make("span", { class: "track", "aria-hidden": "true" }, filled);
  return make("li", {}, make("span", { class: "name" }, word ?? field.name), track, make("span", { class: "amount" }, amount));
}

const side = (influence, top) => (Math.abs(influence) < top / 20 ? null : influence > 0 ? "for" : "against");
