// An editor for YAML: a text area with coloured lines beneath it, line numbers, the server's findings at their lines while one types, and
// help for the field at the cursor.
import { post } from '../client/client.js';
import { pathAt, pathText, tokens } from '../lib/yaml.js';
import { fieldHelp } from './field_help.js';
import { fill, freshId, h, text } from './dom.js';
import { statusMark } from './status.js';

const CHECK_MS = 350, COLOURED_LINES_MAX = 3000, TEXT_MAX = 256 << 10;

/** options: {label, onChange(text), onFindings(findings), prepare(text): what is checked, with the same lines} */
export class Editor {
  findings = [];
  #timer = 0;
  #check = null;
  #asked = 0;

  constructor(value, options) {
    this.options = options;
    const id = freshId('editor');
    this.area = h('textarea', { class: 'code', id, spellcheck: 'false', autocapitalize: 'off', autocomplete: 'off', wrap: 'off', 'aria-label': options.label, 'aria-describedby': `${id}-findings`,
      oninput: () => this.#changed(), onscroll: () => this.#scrolled(), onkeyup: () => this.#moved(), onclick: () => this.#moved(), onkeydown: event => this.#key(event) });
    this.area.value = value;
    this.area.setSelectionRange(0, 0);
    this.paint = h('pre', { class: 'code paint', 'aria-hidden': 'true' });
    this.gutter = h('div', { class: 'gutter', 'aria-hidden': 'true' });
    this.list = h('div', { class: 'findings', id: `${id}-findings`, role: 'status', 'aria-live': 'polite' });
    this.help = h('aside', { class: 'fieldhelp', 'aria-label': 'Field help', tabindex: '0' });
    this.element = h('div', { class: 'editor' }, h('div', { class: 'editor-main' }, h('div', { class: 'editor-box' }, this.gutter, h('div', { class: 'editor-text' }, this.paint, this.area)), this.list), this.help);
    this.#colour();
    this.#moved();
    this.checkNow();
  }

  get value() { return this.area.value; }

  set value(value) {
    if (this.area.value === value) return;
    const at = Math.min(this.area.selectionStart, value.length);
    this.area.value = value;
    this.area.setSelectionRange(at, at);
    this.#changed(false);
  }

  get errors() { return this.findings.filter(one => one.severity === 'error'); }

  end() { clearTimeout(this.#timer); this.#check?.abort(); }

  #changed(tell = true) {
    this.#colour();
    this.#moved();
    if (tell) this.options.onChange?.(this.value);
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.checkNow(), CHECK_MS);
  }

  /** Asks the server what it would say. The newest question counts. */
  async checkNow() {
    clearTimeout(this.#timer);
    this.#check?.abort();
    this.#check = new AbortController();
    const asked = this.#asked += 1;
    if (new Blob([this.value]).size > TEXT_MAX) return this.#show([{ line: 1, column: 1, field: '', rule: '', severity: 'error', message: 'The text is larger than 256 KiB; use kubectl for it.' }]);
    try {
      const { findings } = await post('/ui/api/check', this.options.prepare?.(this.value) ?? this.value, { type: 'text/plain', signal: this.#check.signal });
      if (asked === this.#asked) this.#show(findings ?? []);
    } catch (error) {
      if (asked === this.#asked && !this.#check.signal.aborted) this.#show([], error);
    }
  }

  #show(findings, error) {
    this.findings = findings;
    const errors = this.errors.length, warnings = findings.length - errors;
    fill(this.list, error ? statusMark(`The check cannot be asked: ${error.message}`, 'warn')
      : findings.length === 0 ? statusMark('No findings: the server would accept this.', 'good')
        : h('p', { class: 'findings-head' }, statusMark([errors ? `${errors} ${errors === 1 ? 'error' : 'errors'}` : '', warnings ? `${warnings} ${warnings === 1 ? 'warning' : 'warnings'}` : ''].filter(Boolean).join(', '), errors ? 'bad' : 'warn')),
    findings.length ? h('ul', {}, findings.slice(0, 50).map(one => h('li', {}, h('button', { class: `finding ${one.severity}`, onclick: () => this.goTo(one.line) },
      h('span', { class: 'line' }, `line ${one.line || '?'}`), one.rule ? h('code', { class: 'rule' }, one.rule) : null, h('span', {}, one.field ? h('code', {}, one.field) : null, one.field ? ': ' : '', one.message.startsWith(`${one.field}: `) ? one.message.slice(one.field.length + 2) : one.message))))) : null);
    this.#number();
    this.options.onFindings?.(findings);
  }

  goTo(line) {
    const lines = this.value.split('\n'), at = lines.slice(0, Math.max(0, line - 1)).reduce((sum, one) => sum + one.length + 1, 0);
    this.area.focus();
    this.area.setSelectionRange(at, at + (lines[line - 1]?.length ?? 0));
    this.area.scrollTop = Math.max(0, (line - 5) * this.#lineHeight());
    this.#moved();
  }

  #lineHeight() { return parseFloat(getComputedStyle(this.area).lineHeight) || 20; }

  #colour() {
    const lines = this.value.split('\n');
    this.count = lines.length;
    fill(this.paint, lines.length > COLOURED_LINES_MAX ? this.value : lines.map((line, at) => [tokens(line).map(([kind, part]) => kind === 'plain' ? part : h('span', { class: `t-${kind}` }, part)), at < lines.length - 1 ? '\n' : ''])).append('\n');
    this.#number();
    this.#scrolled();
  }

  #number() {
    const worst = new Map();
    for (const one of this.findings) if (worst.get(one.line) !== 'error') worst.set(one.line, one.severity);
    if (this.count > COLOURED_LINES_MAX) return fill(this.gutter);
    fill(this.gutter, Array.from({ length: this.count }, (_, at) => h('span', { class: worst.get(at + 1) ?? null }, at + 1)));
  }

  #scrolled() {
    this.paint.style.transform = `translate(${-this.area.scrollLeft}px, ${-this.area.scrollTop}px)`;
    this.gutter.scrollTop = this.area.scrollTop;
  }

  // Tab indents, unless Escape was pressed before: nobody is caught in here.
  #key(event) {
    if (event.key === 'Escape') { this.leaving = true; return; }
    if (event.key === 'Tab' && !event.shiftKey && !this.leaving) {
      event.preventDefault();
      this.area.setRangeText('  ', this.area.selectionStart, this.area.selectionEnd, 'end');
      this.#changed();
    }
    if (event.key === 'Enter') {
      const before = this.value.slice(0, this.area.selectionStart), line = before.slice(before.lastIndexOf('\n') + 1);
      const indent = /^\s*/.exec(line)[0] + (/:\s*$/.test(line) ? '  ' : '');
      if (indent) { event.preventDefault(); this.area.setRangeText(`\n${indent}`, this.area.selectionStart, this.area.selectionEnd, 'end'); this.#changed(); }
    }
    if (event.key !== 'Tab') this.leaving = false;
  }

  #moved() {
    const before = this.value.slice(0, this.area.selectionStart), line = before.split('\n').length - 1, column = before.length - before.lastIndexOf('\n') - 1;
    const path = pathAt(this.value, line, column), shown = pathText(path);
    if (this.shownPath === shown) return;
    this.shownPath = shown;
    fieldHelp(this.help, this.value, path);
  }
}

/** Both texts, what changed marked: for reviews before saving. */
export function diffView(lines) {
  const sign = { same: ' ', added: '+', removed: '−', gap: '' };
  return h('div', { class: 'diff', role: 'region', 'aria-label': 'What changes', tabindex: '0' }, lines.map(line => line.kind === 'gap' ? h('div', { class: 'gap' }, `${line.count} unchanged ${line.count === 1 ? 'line' : 'lines'}`)
    : h('div', { class: line.kind }, h('span', { class: 'sign', 'aria-label': line.kind === 'same' ? null : line.kind }, sign[line.kind]), text(h('code', {}), line.text || ' '))));
}
