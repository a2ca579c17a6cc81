// Nodes: what they have, what fills it, and whether they take more VMs.
import { items, resourcePath } from '../client/client.js';
import { nodeRows, sum } from '../lib/capacity.js';
import { age, bytes, plural } from '../lib/format.js';
import { bar } from '../parts/bar.js';
import { fill, h, renew, text } from '../parts/dom.js';
import { empty, notice, statusMark } from '../parts/status.js';
import { onFleet, vmis } from '../state/fleet.js';

const EVERY_MS = 5000, SHOWN_MAX = 200;
const number = value => Number.isFinite(value) ? String(Math.round(value * 10) / 10) : '?';

export function nodesView() {
  const body = h('div', { class: 'stack' }), summary = h('p', { class: 'summary', role: 'status' }), end = new AbortController();
  let nodes = null, shownAt = 0, later = 0;

  function show() {
    if (!nodes) return;
    const wait = 1000 - (performance.now() - shownAt);
    if (wait > 0) { later ||= setTimeout(() => { later = 0; show(); }, wait); return; }
    shownAt = performance.now();
    const rows = nodeRows(nodes, vmis.rows.values()), all = one => sum(rows, one);
    text(summary, `${plural(rows.length, 'node')}, ${rows.filter(one => one.ready).length} ready, ${plural(all(one => one.used.vms), 'VM')} running`);
    renew(body, rows.length === 0 ? empty('There are no nodes.', h('p', {}, 'Start the server with --node libvirt or --node simulated; --api-only has none.')) : [
      rows.length > 1 ? h('section', { class: 'card totals' }, h('h2', {}, 'All nodes'), bar('CPUs given to guests', all(one => one.used.vcpus), all(one => one.cpu), number), bar('Memory given to guests', all(one => one.used.memory), all(one => one.memory), bytes)) : null,
      h('div', { class: 'cards' }, rows.slice(0, SHOWN_MAX).map(card))]);
  }

  const card = row => h('section', { class: 'card' }, h('header', { class: 'card-head' }, h('h2', {}, row.name), statusMark(!row.ready ? 'Not ready' : row.schedulable ? 'Ready' : 'Ready, takes no VMs', !row.ready ? 'bad' : row.schedulable ? 'good' : 'warn')),
    !row.ready && row.message ? h('p', {}, row.message) : null,
    bar('CPUs given to guests', row.used.vcpus, row.cpu, number), bar('Memory given to guests', row.used.memory, row.memory, bytes),
    h('dl', { class: 'facts' }, [['VMs', h('a', { href: `#/vms?node=${encodeURIComponent(row.name)}` }, String(row.used.vms))], ['Heartbeat', row.heartbeat ? `${age(row.heartbeat, Date.now())} ago` : ''], ['System', [...new Set([row.info.osImage, row.info.kernelVersion])].filter(Boolean).join(', ')], ['Architecture', row.info.architecture], ['Taints', row.taints.map(one => `${one.key}:${one.effect}`).join(', ')]]
      .filter(([, value]) => value).map(([title, value]) => [h('dt', {}, title), h('dd', {}, value)])));

  async function load() {
    if (document.visibilityState === 'hidden') return;
    try {
      nodes = await items(resourcePath('nodes'), { signal: end.signal });
      show();
    } catch (error) {
      if (!end.signal.aborted) fill(body, notice('bad', 'Nodes cannot be read.', h('p', {}, error.message)));
    }
  }
  const stop = onFleet(show), timer = setInterval(load, EVERY_MS);
  load();
  return { element: h('section', { class: 'page' }, h('div', { class: 'page-head' }, h('h1', {}, 'Nodes'), summary), body), title: 'Nodes', end() { end.abort(); stop(); clearInterval(timer); clearTimeout(later); } };
}
