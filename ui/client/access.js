// May the user do this? Asked of the server in one request for everything that is asked within one turn of the page, and remembered for a while.
import { post } from './client.js';

const KEPT_MS = 60_000, CHECKS_MAX = 200;
const kept = new Map();  // key -> {until, answer: Promise<boolean>}
let waiting = [];  // {check, settle}

const keyOf = check => JSON.stringify([check.verb, check.group, check.resource, check.subresource, check.namespace, check.name]);

async function ask() {
  const asked = waiting;
  waiting = [];
  for (let at = 0; at < asked.length; at += CHECKS_MAX) {
    const part = asked.slice(at, at + CHECKS_MAX);
    try {
      const { allowed } = await post('/ui/api/access', { checks: part.map(one => one.check) });
      part.forEach((one, index) => one.settle(allowed[index] === true));
    } catch {
      // The server decides anyway: who cannot be asked is not kept from trying.
      part.forEach(one => { kept.delete(keyOf(one.check)); one.settle(true); });
    }
  }
}

/** check: {verb, group, resource, subresource, namespace, name}; what is left out is empty. */
export function may({ verb, group = '', resource, subresource = '', namespace = '', name = '' }) {
  const check = { verb, group, resource, subresource, namespace, name }, key = keyOf(check), now = Date.now();
  const found = kept.get(key);
  if (found && found.until > now) return found.answer;
  const answer = new Promise(settle => {
    if (waiting.length === 0) queueMicrotask(ask);
    waiting.push({ check, settle });
  });
  if (kept.size > 5000) kept.clear();
  kept.set(key, { until: now + KEPT_MS, answer });
  return answer;
}

export const forgetAccess = () => kept.clear();

/** What to say of a button that may not be pressed. */
export const notAllowed = ({ verb, resource, subresource, namespace }) =>
  `You may not ${verb} ${[resource, subresource].filter(Boolean).join('/')}${namespace ? ` in namespace ${namespace}` : ''}; ask whoever manages roles for a binding.`;
