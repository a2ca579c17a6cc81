// How values are written for people. Pure: the time is an argument.

const UNITS = [['d', 86400], ['h', 3600], ['m', 60], ['s', 1]];

/** A span in the two largest units: "3d 4h", "12m", "8s". */
export function span(seconds) {
  let left = Math.max(0, Math.floor(seconds));
  if (!Number.isFinite(left)) return '';
  const parts = [];
  for (const [unit, size] of UNITS) {
    const count = Math.floor(left / size);
    if (count > 0 || (unit === 's' && parts.length === 0)) parts.push(`${count}${unit}`);
    else if (parts.length > 0) break;
    left -= count * size;
    if (parts.length === 2) break;
  }
  return parts.join(' ');
}

/** Seconds from a time in RFC 3339 until now (milliseconds); NaN for no time. */
export function ageSeconds(time, nowMs) {
  const then = Date.parse(time ?? '');
  return Number.isNaN(then) ? NaN : Math.max(0, (nowMs - then) / 1000);
}

export function age(time, nowMs) {
  const seconds = ageSeconds(time, nowMs);
  return Number.isNaN(seconds) ? '' : span(seconds);
}

const BINARY = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB'];

/** 1536 -> "1.5 KiB" */
export function bytes(count) {
  if (!Number.isFinite(count)) return '';
  let value = Math.abs(count), unit = 0;
  while (value >= 1024 && unit < BINARY.length - 1) { value /= 1024; unit += 1; }
  const text = unit === 0 || value >= 100 ? String(Math.round(value)) : String(Math.round(value * 10) / 10);
  return `${count < 0 ? '-' : ''}${text} ${BINARY[unit]}`;
}

export function percent(fraction) {
  if (!Number.isFinite(fraction)) return '';
  if (fraction > 0 && fraction < 0.0005) return 'less than 0.1%';
  return fraction > 0 && fraction < 0.01 ? `${(fraction * 100).toFixed(1)}%` : `${Math.round(fraction * 100)}%`;
}

const SUFFIXES = {
  '': 1, n: 1e-9, u: 1e-6, m: 1e-3, k: 1e3, M: 1e6, G: 1e9, T: 1e12, P: 1e15, E: 1e18,
  Ki: 2 ** 10, Mi: 2 ** 20, Gi: 2 ** 30, Ti: 2 ** 40, Pi: 2 ** 50, Ei: 2 ** 60,
};

/** A quantity of Kubernetes as a number; NaN for anything else. */
export function quantity(text) {
  if (typeof text === 'number') return text;
  const match = /^([+-]?(?:\d+\.?\d*|\.\d+))(?:([eE][+-]?\d+)|([numkMGTPE]i?|Ki))?$/.exec(String(text ?? ''));
  if (!match) return NaN;
  const scale = match[3] ? SUFFIXES[match[3]] : 1;
  return scale === undefined ? NaN : Number(match[1] + (match[2] ?? '')) * scale;
}

const whole = new Intl.NumberFormat('en');  // made once: toLocaleString would make one each time

/** 12345 -> "12,345" */
export const number = count => whole.format(count);

export const plural = (count, one, many = `${one}s`) => `${number(count)} ${count === 1 ? one : many}`;

/** Local time of a day, with the date when it is another day. */
export function clock(time, nowMs) {
  const then = new Date(time);
  if (Number.isNaN(then.getTime())) return '';
  const two = number => String(number).padStart(2, '0');
  const hours = `${two(then.getHours())}:${two(then.getMinutes())}:${two(then.getSeconds())}`;
  const day = date => `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
  return day(then) === day(new Date(nowMs)) ? hours : `${day(then)} ${hours}`;
}
