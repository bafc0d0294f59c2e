// The form: a control for each input of a signature, by its kind.
const MOST_OPTIONS = 30;
const TRUE_WORDS = ["true", "yes", "y", "t", "on", "1"];
const IS_PROSE = { text: true, texts: true, words: true };

/** Make an element; whatever is given to show becomes text, never markup. */
export function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) if (value != null && value !== false) element.setAttribute(name, value === true ? "" : value);
  element.append(...children);
  return element;
}

export const shown = (number, digits = 5) => new Intl.NumberFormat("en", { maximumSignificantDigits: digits }).format(number);

/** A control with its label, hint and error; `parse` reads what it holds, undefined if that is missing. */
export class Field {
  constructor(spec, number) {
    Object.assign(this, { spec, name: spec.name, id: `field-${number}`, isProse: spec.kind in IS_PROSE });
    this.control = this.#makeControl();
    this.control.setAttribute("aria-describedby", `${this.id}-hint ${this.id}-wrong`);
    this.wrong = make("p", { class: "wrong", id: `${this.id}-wrong` });
    const hint = make("p", { class: "note", id: `${this.id}-hint` }, this.#hint());
    const label = make("label", { for: this.id }, spec.name);
    this.element = make("div", { class: "field" }, label, this.around ?? this.control, hint, this.wrong);
  }

  get raw() { return this.control.value; }

  parse(raw) {
    const { kind, is_required: isRequired } = this.spec;
    if (kind === "texts") return raw.split("\n").filter((line) => line.trim());
    if (this.isProse) return raw || isRequired ? raw : undefined;
    if (raw === "") return undefined;
    if (kind === "number" || kind === "integer") return Number(raw);
    return kind === "boolean" ? raw === "true" : kind === "date" ? raw.replace("T", " ") : raw;
  }

  write(value) {
    const text = value == null ? "" : Array.isArray(value) ? value.join(this.spec.kind === "texts" ? "\n" : " ") : String(value);
    if (this.spec.kind === "boolean") this.control.value = text && String(TRUE_WORDS.includes(text.toLowerCase()));
    else this.control.value = this.control.type === "datetime-local" ? text.replace(" ", "T") : text;
    this.#follow();
  }

  refuse(sentence) {
    this.wrong.textContent = sentence;
    this.control.setAttribute("aria-invalid", String(Boolean(sentence)));
  }

  /** A value as it would be most often, where a row without one is refused. */
  get usual() {
    const { seen, value_shares: shares, default: standard } = this.spec;
    return standard ?? Object.keys(shares)[0] ?? seen?.quantiles["0.5"] ?? seen?.mean;
  }

  #makeControl() {
    const { kind, values, num_values: numValues, example, lengths } = this.spec;
    const base = { id: this.id, name: this.spec.name, required: this.spec.is_required };
    if (this.isProse) {
      const isShort = kind === "text" && (lengths ? lengths.quantiles["0.95"] < 60 : !base.required);
      return make("textarea", { ...base, rows: isShort ? 1 : 4, spellcheck: "false" });
    }
    if (kind === "boolean" || (values.length && numValues <= MOST_OPTIONS)) {
      const options = kind === "boolean" ? ["true", "false"] : values;
      return make("select", base, make("option", { value: "" }, "(missing)"), ...options.map((each) => make("option", { value: each }, each)));
    }
    if (kind === "number" || kind === "integer") return this.#makeNumber(base);
    if (kind === "date") {
      const isDay = /^\d{4}-\d\d-\d\d$/.test(example ?? ""), isTime = /^\d{4}-\d\d-\d\d[ T]\d\d:\d\d(:\d\d)?$/.test(example ?? "");
      return make("input", { ...base, type: isDay ? "date" : isTime ? "datetime-local" : "text", step: isTime && 1, placeholder: example });
    }
    const control = make("input", { ...base, list: `${this.id}-values`, autocomplete: "off" });
    this.around = make("div", {}, control, make("datalist", { id: `${this.id}-values` }, ...values.map((value) => make("option", { value }))));
    return control;
  }

  #makeNumber(base) {
    const { seen, kind } = this.spec;
    const control = make("input", { ...base, type: "number", step: kind === "integer" ? 1 : "any", inputmode: "decimal" });
    if (!seen || seen.lowest >= seen.highest) return control;
    const step = kind === "integer" ? 1 : 10 ** Math.floor(Math.log10((seen.highest - seen.lowest) / 100));
    const ends = { min: Math.floor(seen.lowest / step) * step, max: Math.ceil(seen.highest / step) * step };
    this.slider = make("input", { type: "range", ...ends, step, "aria-label": `${base.name}, slider` });
    this.slider.addEventListener("input", () => { control.value = Number(Number(this.slider.value).toPrecision(12)); });
    control.addEventListener("input", () => this.#follow());
    this.around = make("div", { class: "pair" }, this.slider, control);
    return control;
  }

  #follow() {
    if (this.slider) this.slider.value = this.control.value === "" ? (this.usual ?? 0) : this.control.value;
  }

  #hint() {
    const { kind, seen, values, num_values: numValues, is_required: isRequired, default: standard } = this.spec;
    const parts = [];
    const end = kind === "date" ? (seconds) => new Date(seconds * 1000).toISOString().slice(0, 10) : shown;
    if (seen) parts.push(`${end(seen.lowest)} to ${end(seen.highest)} in training`);
    if (kind === "texts") parts.push("one a line");
    if (values.length > MOST_OPTIONS) parts.push(`${numValues} values in training`);
    if (!isRequired) parts.push(standard == null || this.isProse ? "may be empty" : `empty counts as ${typeof standard === "number" ? shown(standard) : standard}`);
    return parts.join("; ");
  }
}
