// The VMs of the page: every VM joined with its VMI, for the whole server or for the one namespace that the user may see.
import { resourcePath } from '../client/client.js';
import { Tally } from '../lib/filter.js';
import { joined, keyOf, vmiRow, vmRow } from '../lib/rows.js';
import { Collection } from './collection.js';

const key = object => keyOf(object.metadata);
export const vms = new Collection(vmRow, key);
export const vmis = new Collection(vmiRow, key);

const SCOPE = 'virtgate.namespace';
let started = false;

export const scope = () => localStorage.getItem(SCOPE) ?? '';

/** Shows one namespace only; '' for all of them. */
export function setScope(namespace) {
  if (namespace) localStorage.setItem(SCOPE, namespace);
  else localStorage.removeItem(SCOPE);
  if (started) startFleet();
}

export function startFleet() {
  started = true;
  forget();
  vms.start(resourcePath('virtualmachines', scope()));
  vmis.start(resourcePath('virtualmachineinstances', scope()));
}

export function stopFleet() {
  started = false;
  vms.stop();
  vmis.stop();
  forget();
}

/** key -> joined row */
export const rows = new Map();
/** How many have which status, and so on. */
export const tally = new Tally(['status', 'namespace', 'node']);
const forget = () => { rows.clear(); tally.clear(); };
const listeners = new Set();
let pending = new Set(), scheduled = false;

function rejoin(keys) {
  for (const one of keys) {
    if (!one) continue;
    const vm = vms.rows.get(one), vmi = vmis.rows.get(one), after = vm || (vmi && !vmi.owned) ? joined(one, vm, vmi) : undefined;
    tally.change(rows.get(one), after);
    if (after) rows.set(one, after); else rows.delete(one);
  }
  for (const one of keys) pending.add(one);
  if (scheduled) return;
  scheduled = true;
  queueMicrotask(() => {
    const told = pending;
    pending = new Set();
    scheduled = false;
    for (const listener of [...listeners]) listener(told);
  });
}
vms.listen(rejoin);
vmis.listen(rejoin);

/** listener(keys of what changed); '' among them: the state of the connection changed. */
export function onFleet(listener) {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** {word, error} of both watches together: the worse of the two. */
export function fleetState() {
  for (const word of ['refused', 'waiting', 'loading']) {
    const one = [vms, vmis].find(collection => collection.state === word);
    if (one) return { word, error: one.error };
  }
  return { word: vms.state, error: null };
}
