// Pictures of screens for the list: only of rows in sight, few at a time, and not more than some dozens kept.
import { actionPath, send } from '../client/client.js';

const PARALLEL = 2, KEPT_MAX = 60, FRESH_MS = 15_000, PICTURE_BYTES_MAX = 4 << 20;
const kept = new Map();  // key -> {url, until}, the oldest first
let wanted = [], running = 0, done = () => {};

export const pictureOf = key => kept.get(key)?.url ?? '';

/** The rows in sight; `changed` is called when a picture came. */
export function want(rows, changed) {
  done = changed;
  const now = Date.now();
  wanted = rows.filter(row => row.instance?.phase === 'Running' && !((kept.get(row.key)?.until ?? 0) > now));
  pump();
}

function pump() {
  while (running < PARALLEL && wanted.length > 0) {
    const row = wanted.shift();
    running += 1;
    fetchOne(row).finally(() => { running -= 1; pump(); });
  }
}

async function fetchOne(row) {
  const { key } = row;
  let url = '';
  try {
    const response = await send('GET', actionPath('virtualmachineinstances', row.namespace, row.name, 'vnc/screenshot'), { accept: '*/*', quiet: true, timeoutMs: 10_000 });
    const blob = await response.blob();
    if (blob.type.startsWith('image/') && blob.size <= PICTURE_BYTES_MAX) url = URL.createObjectURL(blob);
  } catch {
    url = '';  // no screen: asked again later
  }
  const before = kept.get(key);
  if (before?.url) URL.revokeObjectURL(before.url);
  kept.delete(key);
  kept.set(key, { url, until: Date.now() + FRESH_MS });
  while (kept.size > KEPT_MAX) {
    const [oldest, one] = kept.entries().next().value;
    if (one.url) URL.revokeObjectURL(one.url);
    kept.delete(oldest);
  }
  done();
}
