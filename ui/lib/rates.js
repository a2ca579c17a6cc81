// Counters of a guest become rates: what happened between two samples, by the time between them.

const rate = (now, before, seconds) => seconds > 0 && now >= before ? (now - before) / seconds : NaN;
const sum = (list, key) => (list ?? []).reduce((total, one) => total + (Number(one[key]) || 0), 0);

/** One point of the graphs from two samples; null when they cannot be compared (the guest restarted, the clock went back). */
export function pointOf(before, now) {
  const seconds = (Date.parse(now.time) - Date.parse(before.time)) / 1000;
  if (!(seconds > 0) || Number(now.cpu?.timeNanoseconds) < Number(before.cpu?.timeNanoseconds)) return null;
  const list = (key, field) => rate(sum(now[key], field), sum(before[key], field), seconds);
  return {
    time: Date.parse(now.time),
    cpu: rate(Number(now.cpu?.timeNanoseconds), Number(before.cpu?.timeNanoseconds), seconds) / 1e9,
    memory: memoryUsed(now.memory),
    diskRead: list('disks', 'readBytes'), diskWrite: list('disks', 'writeBytes'),
    netIn: list('networks', 'receiveBytes'), netOut: list('networks', 'transmitBytes'),
  };
}

/** What the guest itself uses where it says so, else what its process has. */
export function memoryUsed(memory) {
  if (!memory) return NaN;
  const used = memory.availableBytes && memory.unusedBytes !== undefined ? memory.availableBytes - memory.unusedBytes : NaN;
  return Number.isFinite(used) && used > 0 ? used : Number(memory.rssBytes ?? NaN);
}

/** The points of the last `seconds`, the newest last, at most `max`. */
export function recent(points, nowMs, seconds, max) {
  const found = points.filter(point => point.time >= nowMs - seconds * 1000);
  return found.length > max ? found.slice(found.length - max) : found;
}

/** The end of an axis: a round number that is not below any value. */
export function ceiling(values, least, base = 10) {
  const top = Math.max(least, ...values.filter(Number.isFinite));
  const step = base === 2 ? [1, 2, 4, 8] : [1, 2, 5, 10];
  const root = base === 2 ? 16 : 10;
  let scale = 1;
  if (top >= 1) while (scale * root <= top) scale *= root;
  else while (scale / root >= top) scale /= root;
  if (top < 1) scale /= root;
  return (step.find(one => one * scale >= top) ?? root) * scale;
}
