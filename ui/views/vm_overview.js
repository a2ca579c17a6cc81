// The overview of one VM: facts, graphs, conditions, disks, networks, time line.
import { get, resourcePath, uiPath } from '../client/client.js';
import { age, bytes, clock, percent } from '../lib/format.js';
import { conditionsOf, disksOf, networksOf, timeline } from '../lib/machine.js';
import { pointOf, recent } from '../lib/rates.js';
import { memoryText, vcpus } from '../lib/rows.js';
import { nextStep, sentence } from '../lib/story.js';
import { plainTable } from '../parts/bar.js';
import { h, renew } from '../parts/dom.js';
import { Graph } from '../parts/graph.js';
import { statusMark } from '../parts/status.js';
import { answers } from '../state/session.js';

const SAMPLE_MS = 2000, KEPT_SECONDS = 150, POINTS_MAX = 200, EVENTS_MS = 5000;

const card = (title, ...children) => h('section', { class: 'card' }, h('h2', {}, title), children);

export function overviewTab(model) {
  const facts = h('dl', { class: 'facts' }), conditions = h('div', {}), disks = h('div', {}), networks = h('div', {}), line = h('ol', { class: 'timeline', tabindex: '0', 'aria-label': 'History' }), also = h('ul', { class: 'verdicts' });
  const graphs = [
    new Graph('CPU', [{ key: 'cpu', title: 'used', colour: 'series-a' }], { print: value => percent(value), least: 1, most: () => state.vcpus }),
    new Graph('Memory', [{ key: 'memory', title: 'used', colour: 'series-a' }], { print: bytes, least: 16 << 20, base: 2, most: () => state.memory }),
    new Graph('Network', [{ key: 'netIn', title: 'in', colour: 'series-a' }, { key: 'netOut', title: 'out', colour: 'series-b' }], { print: value => `${bytes(value)}/s`, least: 1024, base: 2 }),
    new Graph('Disk', [{ key: 'diskRead', title: 'read', colour: 'series-a' }, { key: 'diskWrite', title: 'write', colour: 'series-b' }], { print: value => `${bytes(value)}/s`, least: 1024, base: 2 }),
  ];
  const box = h('div', { class: 'graphs', hidden: true }, graphs.map(graph => graph.element)), note = h('p', { class: 'muted' }, 'Waiting for figures from the node…');
  const state = { points: [], last: null, vcpus: 1, memory: NaN, events: [] };
  const end = new AbortController();

  function show() {
    const { vm, vmi } = model, spec = vmi?.spec ?? vm?.spec?.template?.spec, now = Date.now();
    const rows = [
      ['Node', vmi?.status?.nodeName ? h('a', { href: `#/vms?node=${encodeURIComponent(vmi.status.nodeName)}` }, vmi.status.nodeName) : 'none'],
      ['Addresses', (vmi?.status?.interfaces ?? []).flatMap(one => one.ipAddresses ?? []).join(', ') || 'none'],
      ['Size', `${vcpus(spec?.domain)} CPU, ${vmi?.status?.memory?.guestCurrent ?? memoryText(spec?.domain) ?? ''} memory`],
      ['Run strategy', vm?.spec?.runStrategy ?? (vm?.spec?.running === undefined ? '' : vm.spec.running ? 'Always' : 'Halted')], ['Instance type', vm?.spec?.instancetype?.name], ['Preference', vm?.spec?.preference?.name],
      ['Guest', vmi?.status?.guestOSInfo?.prettyName], ['Machine type', vmi?.status?.machine?.type], ['Created', (vm ?? vmi)?.metadata?.creationTimestamp ? `${age((vm ?? vmi).metadata.creationTimestamp, now)} ago` : ''],
      ['Labels', Object.entries((vm ?? vmi)?.metadata?.labels ?? {}).map(([key, value]) => h('a', { class: 'tag', href: `#/vms?selector=${encodeURIComponent(`${key}=${value}`)}` }, `${key}=${value}`))], ['UID', h('code', {}, (vm ?? vmi)?.metadata?.uid ?? '')],
    ].filter(([, value]) => value && value.length !== 0);
    renew(facts, rows.map(([title, value]) => [h('dt', {}, title), h('dd', {}, value)]));
    renew(conditions, plainTable('Conditions', ['Condition', 'Status', 'Why', 'Since'], conditionsOf(vm, vmi).map(one => [one.type, statusMark(one.status, one.tone), [one.reason, one.message].filter(Boolean).join(': '), one.since ? age(one.since, now) : '']), 'None.'));
    renew(disks, plainTable('Disks', ['Name', 'Device', 'Bus', 'Source', 'In the guest', 'Size'], disksOf(spec, vmi?.status).map(one => [one.name, one.device + (one.hotplugged ? ' (hotplugged)' : ''), one.bus, one.claim ? h('a', { href: `#/storage?claim=${encodeURIComponent(one.claim)}` }, one.source) : one.source, one.target, one.size]), 'It has no disks.'));
    renew(networks, plainTable('Networks', ['Name', 'Binding', 'Network', 'Addresses', 'MAC', 'Link'], networksOf(spec, vmi?.status).map(one => [one.name, one.binding, one.network, one.addresses.join(', '), h('code', {}, one.mac), one.link]), 'It has no networks.'));
    renew(also, (model.story?.verdicts ?? []).slice(1).map(one => h('li', {}, sentence(one.text), nextStep(one) ? h('span', { class: 'muted' }, ` Next: ${nextStep(one)}`) : null)));
    also.hidden = also.children.length === 0;
    state.vcpus = vcpus(spec?.domain);
    showLine();
  }

  function showLine() {
    const now = Date.now(), rows = timeline(model.story?.events, state.events);
    renew(line, rows.length ? rows.map(row => h('li', { 'data-tone': row.tone }, h('time', { datetime: row.time, title: row.time }, clock(row.time, now)), h('span', {}, row.text, row.count > 1 ? h('span', { class: 'muted' }, ` (${row.count} times)`) : null), h('span', { class: 'muted kind' }, row.kind.replace('VirtualMachine', 'VM').replace('Instance', 'I').replace('VMIMigration', 'Migration')))) : h('li', {}, 'Nothing happened yet.'));
  }

  async function sample() {
    if (document.visibilityState === 'hidden') return;
    if (model.vmi?.status?.phase !== 'Running') { note.textContent = model.vmi || model.vm ? 'Figures come when the guest runs.' : ''; state.last = null; state.points = []; box.hidden = true; return; }
    try {
      const now = await get(uiPath('stats', 'namespaces', model.namespace, 'virtualmachineinstances', model.name), { signal: end.signal, quiet: true });
      const point = state.last ? pointOf(state.last, now) : null;
      if (state.last && !point) state.points = [];
      if (point) state.points = recent([...state.points, point], Date.parse(now.time), KEPT_SECONDS, POINTS_MAX);
      state.last = now;
      state.vcpus = now.cpu?.vcpus || state.vcpus;
      state.memory = now.memory?.availableBytes || NaN;
      note.textContent = '';
      box.hidden = false;
      graphs[2].say((now.networks ?? []).length ? '' : 'The node does not count the traffic of this kind of network.');
      graphs[3].say((now.disks ?? []).length ? '' : 'The guest has no disks that are counted.');
      graphs.forEach(graph => graph.draw(state.points, Date.parse(now.time)));
    } catch (error) {
      if (!end.signal.aborted) note.textContent = error.code === 404 ? 'This server gives no figures of guests.' : `No figures: ${error.message}`;
    }
  }

  async function loadEvents() {
    if (document.visibilityState === 'hidden' || model.gone) return;
    try {
      const list = await get(resourcePath('events', model.namespace, '', { fieldSelector: `involvedObject.name=${model.name}`, limit: 200 }), { signal: end.signal });
      state.events = list.items ?? [];
      showLine();
    } catch { /* who may not list events sees the story alone */ }
  }

  model.listeners.add(show);
  const live = answers('stats');  // nodes of others count nothing for a page
  const timers = [live ? setInterval(sample, SAMPLE_MS) : 0, setInterval(loadEvents, EVENTS_MS)];
  const redraw = () => graphs.forEach(graph => graph.draw(state.points, Date.now()));
  window.addEventListener('virtgate-theme', redraw, { signal: end.signal });
  show();
  loadEvents();
  if (live) setTimeout(sample, 300);
  return {
    element: h('div', { class: 'overview' }, also, h('div', { class: 'columns' }, card('Facts', facts), live ? h('section', { class: 'card live' }, h('h2', {}, 'Live'), note, box) : null),
      card('Conditions', conditions), card('Disks', disks), card('Networks', networks), card('History', line)),
    end() { end.abort(); timers.forEach(clearInterval); model.listeners.delete(show); },
  };
}
