// Where the fields of a YAML text stand. Not a parser of YAML: the server is that. It finds the path of a line for the help beside the
// editor, and sets single values for the form; flow collections and anything unusual are left alone as the text they are.

const KEY = /^("(?:[^"\\]|\\.)*"|'(?:[^']|'')*'|[^\s#:[\]{}&*!|>'"%@`,-][^#:]*?|-[^\s#:][^#:]*?)\s*:(?=\s|$)/;

const unquoted = text => /^".*"$/s.test(text) ? safeJson(text) : /^'.*'$/s.test(text) ? text.slice(1, -1).replaceAll("''", "'") : text;
const safeJson = text => { try { return JSON.parse(text); } catch { return text.slice(1, -1); } };

/**
 * One entry for each key or list item, in the order of lines: {path, line, indent, valueAt, value, block}. Lines count from 0; valueAt is
 * where the value begins in its line, -1 when it stands below. Lines inside block scalars belong to the entry above them (`end`).
 */
export function outline(text) {
  const lines = text.split('\n'), entries = [], stack = [];  // stack: {indent, path, items}
  let block = null;  // a block scalar that is being passed: {indent, entry}
  lines.forEach((line, number) => {
    const blank = /^\s*(#.*)?$/.test(line), depth = line.length - line.trimStart().length;
    if (block && (line.trim() === '' || depth > block.indent)) { block.entry.end = number; return; }
    block = null;
    if (blank || /^(---|\.\.\.)/.test(line)) return;
    let at = depth, rest = line.slice(at);
    while (stack.length && stack.at(-1).indent > at) stack.pop();
    // List items, also several on one line ("- - a"), and the key behind one.
    while (/^-(\s|$)/.test(rest)) {
      while (stack.length && (stack.at(-1).indent > at || (stack.at(-1).indent === at && stack.at(-1).item === undefined && stack.at(-1).closed))) stack.pop();
      const parent = parentOf(stack, at, true);
      if (!stack.length || stack.at(-1).indent !== at || stack.at(-1).item === undefined) stack.push({ indent: at, path: parent, item: -1 });
      const list = stack.at(-1);
      list.item += 1;
      const path = [...list.path, list.item], skip = /^-\s*/.exec(rest)[0].length;
      const value = rest.slice(skip);
      const entry = { path, line: number, end: number, indent: at, valueAt: value && !KEY.test(value) && !/^-(\s|$)/.test(value) ? at + skip : -1, value: '' };
      if (entry.valueAt >= 0) Object.assign(entry, scalar(value));
      entries.push(entry);
      list.current = path;
      if (entry.block) block = { indent: at, entry };
      if (!value || value.startsWith('#')) return;
      at += skip;
      rest = value;
    }
    const match = KEY.exec(rest);
    if (!match) return;
    while (stack.length && (stack.at(-1).indent > at || (stack.at(-1).indent === at && stack.at(-1).item !== undefined))) stack.pop();
    const parent = parentOf(stack, at, false);
    if (!stack.length || stack.at(-1).indent !== at) stack.push({ indent: at, path: parent });
    const map = stack.at(-1);
    const path = [...map.path, unquoted(match[1])];
    map.current = path;
    const gap = /^\s*/.exec(rest.slice(match[0].length))[0].length, value = rest.slice(match[0].length + gap);
    const entry = { path, line: number, end: number, indent: at, valueAt: value && !value.startsWith('#') ? at + match[0].length + gap : -1, value: '' };
    if (entry.valueAt >= 0) Object.assign(entry, scalar(value));
    entries.push(entry);
    if (entry.block) block = { indent: at, entry };
  });
  return entries;
}

// The path of the collection that begins at this column: the current entry of the nearest one with less indentation. Items of a list
// may stand at the column of the key that they belong to.
function parentOf(stack, at, item) {
  for (let i = stack.length - 1; i >= 0; i -= 1) {
    const one = stack[i];
    if (one.indent < at || (item && one.indent === at && one.item === undefined)) return one.current ?? one.path;
    if (one.indent === at) return one.path;
  }
  return [];
}

function scalar(value) {
  if (/^[|>][+-]?\d?[+-]?\s*(#.*)?$/.test(value)) return { value: '', block: true, length: value.length };
  const quoted = /^("(?:[^"\\]|\\.)*"|'(?:[^']|'')*')/.exec(value);
  const raw = quoted ? quoted[1] : value.replace(/\s+#.*$/, '').trimEnd();
  return { value: unquoted(raw), length: raw.length, block: false };
}

const samePath = (a, b) => a.length === b.length && a.every((part, at) => String(part) === String(b[at]));

export const find = (entries, path) => entries.find(entry => samePath(entry.path, path));

/** The path at a line (from 0) and column: of the entry there, or of the one whose block it stands in. */
export function pathAt(text, line, column = Infinity) {
  const entries = outline(text);
  let found = null;
  for (const entry of entries) {
    if (entry.line > line) break;
    if (entry.line === line && entry.indent > column) continue;
    found = entry;
  }
  return found ? found.path : [];
}

/** [spec, template, disks, 0, name] -> "spec.template.disks[0].name" */
export const pathText = path => path.map((part, at) => typeof part === 'number' ? `[${part}]` : `${at ? '.' : ''}${part}`).join('');

/** "spec.disks[0].name" -> [spec, disks, 0, name] */
export const pathOfText = text => [...String(text ?? '').matchAll(/\[(\d+)\]|\["?([^\]"]+)"?\]|([^.[\]]+)/g)].map(match => match[1] !== undefined ? Number(match[1]) : match[2] ?? match[3]);

export function valueOf(text, path) {
  const entry = find(outline(text), path);
  return entry && !entry.block && entry.valueAt >= 0 ? entry.value : undefined;
}

const PLAIN = /^[A-Za-z_][\w./-]*$/, WORDS = /^(true|false|yes|no|on|off|null|y|n)$/i;
/** A scalar as YAML: as it is where that is a text for sure, else quoted. Numbers stay numbers. */
export function scalarText(value) {
  if (typeof value === 'number' || typeof value === 'boolean') return String(value);
  return (PLAIN.test(value) && !WORDS.test(value)) || /^\d+(\.\d+)?(Ki|Mi|Gi|Ti|k|M|G|T)$/.test(value) ? value : JSON.stringify(value);
}

/** The text with a value set: where it stands, or in a new line below the deepest part of its path that is there. */
export function setValue(text, path, value) {
  const lines = text.split('\n'), entries = outline(text), entry = find(entries, path);
  if (entry && !entry.block) {
    const line = lines[entry.line];
    lines[entry.line] = entry.valueAt >= 0 ? line.slice(0, entry.valueAt) + scalarText(value) + line.slice(entry.valueAt + entry.length)
      : `${line.replace(/\s*(#.*)?$/, '')} ${scalarText(value)}`;
    return lines.join('\n');
  }
  if (entry) return text;  // a block scalar is edited as text
  let depth = path.length - 1;
  while (depth > 0 && !find(entries, path.slice(0, depth))) depth -= 1;
  const parent = depth > 0 ? find(entries, path.slice(0, depth)) : null;
  if (path.slice(depth).some(part => typeof part === 'number')) return text;
  if (parent && parent.valueAt >= 0 && parent.value !== '{}') return text;  // a flow collection, or a value that is none
  if (parent && parent.value === '{}') lines[parent.line] = lines[parent.line].slice(0, parent.valueAt).trimEnd();
  const children = entries.filter(one => one.path.length === depth + 1 && samePath(one.path.slice(0, depth), path.slice(0, depth)));
  const indent = children.length ? children[0].indent : parent ? parent.indent + 2 : 0;
  const fresh = path.slice(depth).map((part, at, all) => `${' '.repeat(indent + at * 2)}${part}:${at === all.length - 1 ? ` ${scalarText(value)}` : ''}`);
  const within = parent ? entries.filter(one => samePath(one.path.slice(0, depth), path.slice(0, depth))) : entries;
  const after = within.length ? Math.max(...within.map(one => one.end)) : parent ? parent.line : lines.findLastIndex(line => line.trim() !== '');
  lines.splice(after + 1, 0, ...fresh);
  return lines.join('\n');
}

/** The text without a field and all that is below it. */
export function removeField(text, path) {
  const entries = outline(text), entry = find(entries, path);
  if (!entry) return text;
  const lines = text.split('\n');
  if (lines[entry.line].slice(0, entry.indent).trim() !== '') return text;  // it shares its line with a list item
  const end = Math.max(...entries.filter(one => samePath(one.path.slice(0, path.length), path)).map(one => one.end));
  lines.splice(entry.line, end - entry.line + 1);
  return lines.join('\n');
}

/** Pieces of a line for colouring: [[kind, text]]; kind: key, comment, mark, string, number, plain. */
export function tokens(line) {
  const found = [];
  let rest = line;
  const take = (kind, count) => { if (count > 0) found.push([kind, rest.slice(0, count)]); rest = rest.slice(count); };
  take('plain', /^\s*/.exec(rest)[0].length);
  while (/^-(\s|$)/.test(rest)) take('mark', /^-\s*/.exec(rest)[0].length);
  const key = KEY.exec(rest);
  if (key) {
    take('key', key[0].length - 1);
    take('mark', 1);
    take('plain', /^\s*/.exec(rest)[0].length);
  }
  if (rest.startsWith('#')) { take('comment', rest.length); return found; }
  const comment = /\s#.*$/.exec(rest), end = comment && !/^["'|>]/.test(rest) ? comment.index : rest.length;
  const value = rest.slice(0, end);
  take(/^["']/.test(value) ? 'string' : /^[|>]/.test(value) ? 'mark' : /^-?[\d.]+\w*$/.test(value) || WORDS.test(value) ? 'number' : 'plain', end);
  take('comment', rest.length);
  return found;
}
