// Which rows are shown, and in which order.
import { quantity } from './format.js';

/**
 * Words, each of which must be found somewhere, and `key:value` for one column (status:running node:node01 ns:default label:app=web).
 * Returns {words, columns: [[column, value]]}.
 */
export function parseSearch(text) {
  const words = [], columns = [];
  for (const part of String(text ?? '').trim().toLowerCase().split(/\s+/)) {
    if (!part) continue;
    const match = /^(status|node|ns|namespace|label|type|name):(.+)$/.exec(part);
    if (match) columns.push([match[1] === 'ns' ? 'namespace' : match[1], match[2]]);
    else words.push(part);
  }
  return { words, columns };
}

/** A label selector: "a=b, c, !d, e!=f, e in (x, y)". Returns a list of requirements, or throws with what is wrong. */
export function parseSelector(text) {
  const requirements = [];
  const rest = String(text ?? '').trim();
  if (!rest) return requirements;
  for (const part of rest.split(/,(?![^(]*\))/)) {
    const one = part.trim();
    let match;
    if ((match = /^(!)?\s*([\w./-]+)$/.exec(one))) requirements.push({ key: match[2], operator: match[1] ? 'absent' : 'exists', values: [] });
    else if ((match = /^([\w./-]+)\s*(==?|!=)\s*([\w.-]*)$/.exec(one))) requirements.push({ key: match[1], operator: match[2] === '!=' ? 'not' : 'in', values: [match[3]] });
    else if ((match = /^([\w./-]+)\s+(in|notin)\s+\(([^()]*)\)$/.exec(one))) {
      requirements.push({ key: match[1], operator: match[2] === 'in' ? 'in' : 'not', values: match[3].split(',').map(value => value.trim()) });
    } else throw new Error(`“${one}” is no label selector; write for example app=web, tier!=test or app in (web, db)`);
  }
  return requirements;
}

export function selectorMatches(requirements, labels) {
  return requirements.every(({ key, operator, values }) => {
    const has = Object.hasOwn(labels, key);
    if (operator === 'exists') return has;
    if (operator === 'absent') return !has;
    return operator === 'in' ? has && values.includes(labels[key]) : !has || !values.includes(labels[key]);
  });
}

const labelTexts = row => Object.entries(row.labels ?? {}).map(([key, value]) => `${key}=${value}`.toLowerCase());

const COLUMNS = {
  status: (row, value) => row.status.toLowerCase().startsWith(value),
  node: (row, value) => (row.node ?? '').toLowerCase().startsWith(value),
  namespace: (row, value) => row.namespace.toLowerCase().startsWith(value),
  name: (row, value) => row.name.toLowerCase().includes(value),
  type: (row, value) => (row.instancetype ?? '').toLowerCase().startsWith(value),
  label: (row, value) => labelTexts(row).some(text => text.startsWith(value)),
};

const foundIn = (row, word) => row.name.toLowerCase().includes(word) || row.namespace.toLowerCase().includes(word) || row.status.toLowerCase().includes(word) ||
  (row.node ?? '').toLowerCase().includes(word) || (row.address ?? '').includes(word) || labelTexts(row).some(text => text.includes(word));

/** filter: {search, selector, namespace, status, node}, all texts; the empty ones let everything through. Returns a function of a row. */
export function compileFilter(filter) {
  const { words, columns } = parseSearch(filter.search);
  const requirements = parseSelector(filter.selector);
  const same = ['namespace', 'status', 'node'].filter(key => filter[key]);
  return row => same.every(key => (row[key] ?? '') === filter[key]) && columns.every(([column, value]) => COLUMNS[column](row, value)) &&
    words.every(word => foundIn(row, word)) && selectorMatches(requirements, row.labels ?? {});
}

const collator = new Intl.Collator('en', { numeric: true });
const texts = key => (a, b) => collator.compare(a[key] ?? '', b[key] ?? '');
const numbers = value => (a, b) => (value(a) || 0) - (value(b) || 0);
const ORDERS = {
  memory: numbers(row => quantity(row.memory)), vcpus: numbers(row => row.vcpus), created: texts('created'),
};

/** A comparison by a column, with namespace and name as tie-breakers: rows never change places without a reason. */
export function comparison(column, descending) {
  const by = ORDERS[column] ?? texts(column), name = texts('name'), namespace = texts('namespace');
  const sign = descending ? -1 : 1;
  return (a, b) => sign * by(a, b) || name(a, b) || namespace(a, b);
}

/** How many rows have which value in some columns, kept up with each change: nobody counts ten thousand rows for one that changed. */
export class Tally {
  #found;
  /** Rises with every change of a number. */
  version = 0;

  constructor(columns) {
    this.#found = new Map(columns.map(column => [column, new Map()]));
  }

  /** A row as it was and as it is; undefined: it came, or it went. */
  change(before, after) {
    for (const [column, found] of this.#found) {
      const was = before?.[column] ?? '', is = after?.[column] ?? '';
      if (was === is) continue;
      this.version += 1;
      if (was) { const left = found.get(was) - 1; if (left > 0) found.set(was, left); else found.delete(was); }
      if (is) found.set(is, (found.get(is) ?? 0) + 1);
    }
  }

  clear() { this.version += 1; for (const found of this.#found.values()) found.clear(); }

  /** [[value, count]] of a column, the most frequent first. */
  of(column) { return [...this.#found.get(column)].sort((a, b) => b[1] - a[1] || collator.compare(a[0], b[0])); }
}

/** The first place from `from` on whose row does not come before this one. */
function place(rows, row, order, from = 0) {
  let low = from, high = rows.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (order(rows[middle], row) < 0) low = middle + 1; else high = middle;
  }
  return low;
}

/** Sorted rows after some keys changed (`fresh`: what they are now, if they are still shown): the others keep their places, and are not compared. */
function merged(rows, changed, fresh, order) {
  const kept = rows.filter(row => !changed.has(row.key)), result = [];
  let from = 0;
  for (const row of fresh.sort(order)) {
    const low = place(kept, row, order, from);
    for (; from < low; from += 1) result.push(kept[from]);
    result.push(row);
  }
  for (; from < kept.length; from += 1) result.push(kept[from]);
  return result;
}

/** Rows in an order that has no ties. A change that leaves a row where it is, as most do, costs a search for its place and nothing for all the others. */
export class OrderedRows {
  #byKey = new Map();

  constructor(rows, order) {
    this.rows = rows.sort(order);
    this.order = order;
    for (const row of rows) this.#byKey.set(row.key, row);
  }

  /** changes: [[key, row as it is now, or undefined]]. `rows` is another list afterwards when rows came, went or moved, and else the same with other rows in it. */
  apply(changes) {
    const moved = new Set(), fresh = [];
    for (const [key, row] of changes) {
      const before = this.#byKey.get(key);
      if (row) this.#byKey.set(key, row); else this.#byKey.delete(key);
      if (!before && !row) continue;
      if (before && row && this.order(before, row) === 0) { this.rows[place(this.rows, before, this.order)] = row; continue; }
      moved.add(key);
      if (row) fresh.push(row);
    }
    if (moved.size > 0) this.rows = merged(this.rows, moved, fresh, this.order);
    return this.rows;
  }
}
