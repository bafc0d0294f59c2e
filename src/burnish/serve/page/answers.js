// What an answer looks like, by its kind, and which of its numbers an influence is measured by.
import { make, shown } from "./fields.js";

const MOST_BARS = 12;
const WORD = /[\p{L}\p{N}_]+(?:[-.,:/@][\p{L}\p{N}_]+)*|[^\p{L}\p{N}_\s]/gu; // as words are found in a text that is tagged
const BLANK = /\[MASK\]|<mask>/g;

export const percent = (share) => `${(100 * share).toFixed(1)}%`;

/** Show an answer: a headline in words, and elements below it. */
export function show(signature, row, answer) {
  return (SHOWN[signature.answer.kind] ?? showOther)(answer, row, signature);
}

const SHOWN = {
  class: (answer, row, signature) => {
    const items = Object.entries(answer.probabilities).map(([value, share]) => ({ name: nameOf(value, signature), share, isChosen: value === answer.predicted }));
    return { headline: nameOf(answer.predicted, signature), note: percent(answer.confidence), parts: bars(items) };
  },
  labels: (answer, row, signature) => {
    const chosen = labelsOf(answer, signature.answer.classes.map(({ value }) => value));
    const items = Object.entries(answer.probabilities).map(([value, share]) => ({ name: nameOf(value, signature), share, isChosen: chosen.includes(value) }));
    return { headline: chosen.map((value) => nameOf(value, signature)).join(", ") || "no label", note: "", parts: bars(items) };
  },
  text: (answer) => ({ headline: answer.predicted || "nothing", note: percent(answer.confidence), parts: [] }),
  number: (answer, row, { answer: { seen } }) => ({ headline: shown(answer.predicted), note: "", parts: seen ? gauge(answer.predicted, seen) : [] }),
  tags: showTags,
  span: (answer, row) => {
    const spans = answer.predicted ? [{ start: answer.start, end: answer.end, hue: 205 }] : [];
    const listed = answer.n_best.map((each, place) => ({ name: each.text, share: each.probability, isChosen: !place && Boolean(answer.predicted) }));
    if (answer.no_answer_probability != null) listed.push({ name: "no answer", share: answer.no_answer_probability, isChosen: !answer.predicted });
    const context = Object.values(row).findLast((text) => spans.length && [...text].slice(answer.start, answer.end).join("") === answer.predicted);
    return { headline: answer.predicted || "no answer", note: percent(answer.confidence), parts: [...(context ? [marked(context, spans)] : []), ...bars(listed)] };
  },
  choice: (answer, row) => {
    const texts = choicesOf(row, answer)?.texts ?? answer.probabilities.map((share, place) => `choice ${place + 1}`);
    const items = texts.map((name, place) => ({ name, share: answer.probabilities[place], isChosen: place === answer.choice }));
    return { headline: answer.predicted, note: percent(answer.confidence), parts: bars(items) };
  },
  tokens: (answer, row) => {
    if (!answer.guesses?.length) return { ...showOther(answer), parts: [facts(answer), make("p", { class: "note" }, "The text has no blank to fill, so its tokens are scored.")] };
    const text = Object.values(row)[0];
    const blanks = [...text.matchAll(BLANK)];
    const [pieces, spans] = [[], []];
    let end = 0, length = 0;
    const add = (piece) => { pieces.push(piece); length += [...piece].length; };
    for (const [place, blank] of blanks.entries()) {
      add(text.slice(end, blank.index));
      const start = length;
      add(answer.guesses[place]?.[0].token ?? blank[0]);
      spans.push({ start, end: length, hue: 205 });
      end = blank.index + blank[0].length;
    }
    add(text.slice(end));
    const lists = answer.guesses.flatMap((guesses, place) => [
      make("h3", {}, answer.guesses.length > 1 ? `Blank ${place + 1}` : "Fill-ins"),
      ...bars(guesses.map((guess, rank) => ({ name: guess.token, share: guess.probability, isChosen: !rank }))),
    ]);
    return { headline: answer.predicted, note: percent(answer.guesses[0][0].probability), parts: [marked(pieces.join(""), spans), ...lists] };
  },
};

/** Find the labels that an answer joined by semicolons; one may hold some itself, and then the likeliest reading counts. */
export function labelsOf({ predicted, probabilities }, names) {
  const read = (rest, from) => names.slice(from).flatMap((name, at) => {
    if (rest === name) return [[name]];
    return rest.startsWith(`${name};`) ? read(rest.slice(name.length + 1), from + at + 1).map((more) => [name, ...more]) : [];
  });
  const least = (labels) => Math.min(...labels.map((name) => probabilities[name]));
  return read(predicted, 0).sort((a, b) => least(b) - least(a))[0] ?? [];
}

function showOther(answer) {
  return { headline: String(answer.predicted), note: "", parts: [facts(answer)] };
}

/** Rank passages by their products with the query's embedding, as `burnish search` does. */
export function showRanking([query, ...passages], texts) {
  const scores = passages.map(({ embedding }) => embedding.reduce((sum, value, at) => sum + value * query.embedding[at], 0));
  const order = scores.map((_, at) => at).sort((a, b) => scores[b] - scores[a]);
  const top = Math.max(...scores.map(Math.abs), 1e-9);
  const items = order.map((at, rank) => ({ name: texts[at], share: Math.max(0, scores[at]) / top, amount: scores[at].toFixed(4), isChosen: !rank }));
  const best = texts[order[0]] ?? "no passages";
  return { headline: best.length > 60 ? `${best.slice(0, 59)}…` : best, note: "", parts: bars(items) };
}

function showTags(answer, row) {
  const text = Object.values(row)[0];
  const entities = answer.entities ?? tagged(text, answer.tags);
  const hues = new Map([...new Set(entities.map(({ type }) => type))].sort().map((type, place) => [type, (205 + place * 137) % 360]));
  const spans = entities.map(({ start, end, type, score }) => ({ start, end, label: type, hue: hues.get(type), title: score == null ? type : `${type}, ${percent(score)}` }));
  const legend = make("p", { class: "legend row", "aria-label": "Legend" });
  for (const [type, hue] of hues) legend.append(tint(make("mark", {}, `${type} (${entities.filter((each) => each.type === type).length})`), hue));
  return { headline: entities.length && answer.entities ? `${entities.length} found` : entities.length ? `${entities.length} words` : "nothing found", note: "", parts: [marked(text, spans), legend] };
}

/** Tags that mark no entities, each on its word. */
function tagged(text, tags) {
  const words = [...text.matchAll(WORD)];
  if (words.length !== tags.length) return [];
  return words.map((word, at) => {
    const start = [...text.slice(0, word.index)].length;
    return { type: tags[at], start, end: start + [...word[0]].length };
  });
}

/** Find the texts that an answer chose from: a list of the row, or as many columns one after another. */
export function choicesOf(row, { probabilities, choice, predicted }) {
  const names = Object.keys(row);
  const found = names.filter((name) => Array.isArray(row[name])).map((name) => ({ names: [name], texts: row[name] }));
  for (let at = 0; at + probabilities.length <= names.length; at++) {
    const some = names.slice(at, at + probabilities.length);
    found.push({ names: some, texts: some.map((name) => row[name]) });
  }
  return found.findLast(({ texts }) => texts.length === probabilities.length && texts[choice] === predicted);
}

/**
 * Which number of an answer shows an influence, and what it is called; null where there is none.
 * `fixed` are columns that must stay, `spared` are words without which there is nothing to measure, and an influence of
 * `least` or less, by default one hundredth, looks small.
 */
export function measureOf(signature, row, base) {
  const ofNames = (value) => ({ what: `the probability of “${nameOf(value, signature)}”`, of: (answer) => answer.probabilities[value] });
  const { seen } = signature.answer;
  const entity = base.entities?.toSorted((a, b) => b.score - a.score)[0], guess = base.guesses?.[0]?.[0];
  return {
    class: () => ofNames(base.predicted),
    labels: () => ofNames(Object.entries(base.probabilities).sort((a, b) => b[1] - a[1])[0][0]),
    number: () => ({ what: signature.answer.column ?? "the number", of: (answer) => answer.predicted, least: seen ? (seen.highest - seen.lowest) / 100 : 0 }),
    choice: () => ({ what: `the probability of “${base.predicted}”`, of: (answer) => answer.probabilities[base.choice], fixed: choicesOf(row, base)?.names }),
    span: () => ({ spared: base.predicted, what: `the probability of “${base.predicted || "no answer"}”`, of: (answer) => (base.predicted ? answer.n_best.find(({ text }) => text === base.predicted)?.probability : answer.no_answer_probability) ?? 0 }),
    tags: () => entity && { spared: entity.text, what: `the score of “${entity.text}” as ${entity.type}`, of: (answer) => answer.entities.find(({ type, text }) => type === entity.type && text === entity.text)?.score ?? 0 },
    tokens: () => guess && { what: `the probability of “${guess.token}”`, of: (answer) => answer.guesses?.[0]?.find(({ token }) => token === guess.token)?.probability ?? 0 },
  }[signature.answer.kind]?.() ?? null;
}

const nameOf = (value, signature) => signature.answer.classes.find((each) => each.value === value)?.name ?? value;

function bars(items) {
  const ordered = items.toSorted((a, b) => b.share - a.share);
  const [first, rest] = [ordered.slice(0, MOST_BARS), ordered.slice(MOST_BARS)];
  const list = make("ul", { class: "bars" }, ...first.map(bar));
  return rest.length ? [list, make("details", {}, make("summary", {}, `${rest.length} more`), make("ul", { class: "bars" }, ...rest.map(bar)))] : [list];
}

function bar({ name, share, amount, isChosen }) {
  const filled = make("i");
  filled.style.width = percent(share);
  return make("li", { class: isChosen && "chosen" }, make("span", { class: "name" }, name), make("span", { class: "track", "aria-hidden": "true" }, filled), make("span", { class: "amount" }, amount ?? percent(share)));
}

function gauge(value, { lowest, highest, quantiles }) {
  const at = (number) => percent(Math.min(1, Math.max(0, (number - lowest) / (highest - lowest || 1))));
  const [middle, marker] = [make("i", { class: "middle" }), make("b")];
  if ("0.25" in quantiles) Object.assign(middle.style, { left: at(quantiles["0.25"]), right: `calc(100% - ${at(quantiles["0.75"])})` });
  marker.style.left = at(value);
  const isOutside = value < lowest || value > highest;
  return [
    make("div", { class: "track gauge", "aria-hidden": "true" }, middle, marker),
    make("p", { class: "note ends" }, make("span", {}, shown(lowest)), make("span", {}, isOutside ? "outside the range of the training rows" : "range of the training rows"), make("span", {}, shown(highest))),
  ];
}

/** A text with parts of it marked; places count characters, as Python does, and not units of UTF-16. */
function marked(text, spans) {
  const letters = [...text], paragraph = make("p", { class: "passage" });
  let at = 0;
  for (const { start, end, label, hue, title } of spans.toSorted((a, b) => a.start - b.start)) {
    paragraph.append(letters.slice(at, start).join(""), tint(make("mark", { title }, letters.slice(start, end).join(""), ...(label ? [" ", make("b", {}, label)] : [])), hue));
    at = end;
  }
  paragraph.append(letters.slice(at).join(""));
  return paragraph;
}

function tint(element, hue) {
  element.style.setProperty("--hue", hue);
  return element;
}

function facts(answer) {
  const cells = Object.entries(answer).map(([name, value]) => make("div", {}, make("dt", {}, name), make("dd", {}, typeof value === "number" ? shown(value) : typeof value === "string" ? value : JSON.stringify(value))));
  return make("dl", { class: "facts" }, ...cells);
}
