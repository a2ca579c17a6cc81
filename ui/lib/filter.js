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

/** [[value, count]] of a column, the most frequent first. */
export function counts(rows, key) {
  const found = new Map();
  for (const row of rows) {
    const value = row[key] ?? '';
    if (value) found.set(value, (found.get(value) ?? 0) + 1);
  }
  return [...found].sort((a, b) => b[1] - a[1] || collator.compare(a[0], b[0]));
}

/** Sorted rows after some keys changed (`fresh`: what they are now, if they are still shown): the others keep their places, and are not compared. */
export function merged(rows, changed, fresh, order) {
  const kept = rows.filter(row => !changed.has(row.key)), result = [];
  let from = 0;
  for (const row of fresh.sort(order)) {
    let low = from, high = kept.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (order(kept[middle], row) < 0) low = middle + 1; else high = middle;
    }
    for (; from < low; from += 1) result.push(kept[from]);
    result.push(row);
  }
  for (; from < kept.length; from += 1) result.push(kept[from]);
  return result;
}
