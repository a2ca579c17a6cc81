// The difference of two texts by lines, as people review it.

const CELLS_MAX = 4_000_000;  // beyond that the differing middle is told as removed and added at once

/** [{kind: 'same'|'removed'|'added', text, before, after}] with line numbers from 1. */
export function diffLines(before, after) {
  const a = before.split('\n'), b = after.split('\n');
  let head = 0, tail = 0;
  while (head < a.length && head < b.length && a[head] === b[head]) head += 1;
  while (tail < a.length - head && tail < b.length - head && a[a.length - 1 - tail] === b[b.length - 1 - tail]) tail += 1;
  const steps = middle(a.slice(head, a.length - tail), b.slice(head, b.length - tail));
  const kinds = [...Array(head).fill('same'), ...steps, ...Array(tail).fill('same')];
  let i = 0, j = 0;
  return kinds.map(kind => {
    const line = { kind, text: kind === 'added' ? b[j] : a[i], before: kind === 'added' ? 0 : i + 1, after: kind === 'removed' ? 0 : j + 1 };
    if (kind !== 'added') i += 1;
    if (kind !== 'removed') j += 1;
    return line;
  });
}

// The longest common subsequence of what differs, by the table of lengths.
function middle(a, b) {
  if (a.length * b.length > CELLS_MAX) return [...a.map(() => 'removed'), ...b.map(() => 'added')];
  const width = b.length + 1, length = new Uint32Array((a.length + 1) * width);
  for (let i = a.length - 1; i >= 0; i -= 1) {
    for (let j = b.length - 1; j >= 0; j -= 1) {
      length[i * width + j] = a[i] === b[j] ? length[(i + 1) * width + j + 1] + 1 : Math.max(length[(i + 1) * width + j], length[i * width + j + 1]);
    }
  }
  const steps = [];
  let i = 0, j = 0;
  while (i < a.length || j < b.length) {
    if (i < a.length && j < b.length && a[i] === b[j]) { steps.push('same'); i += 1; j += 1; }
    else if (j >= b.length || (i < a.length && length[(i + 1) * width + j] >= length[i * width + j + 1])) { steps.push('removed'); i += 1; }
    else { steps.push('added'); j += 1; }
  }
  return steps;
}

/** Lines with what changed and some around them; what was left out is {kind: 'gap', count}. */
export function withContext(lines, context = 3) {
  const keep = new Uint8Array(lines.length);
  lines.forEach((line, at) => {
    if (line.kind !== 'same') keep.fill(1, Math.max(0, at - context), Math.min(lines.length, at + context + 1));
  });
  const shown = [];
  let gap = 0;
  lines.forEach((line, at) => {
    if (keep[at]) {
      if (gap) shown.push({ kind: 'gap', count: gap });
      gap = 0;
      shown.push(line);
    } else gap += 1;
  });
  if (gap && shown.length) shown.push({ kind: 'gap', count: gap });
  return shown;
}
