// One VM: the head with its status and actions, and the tabs below it.
import { get, resourcePath, uiPath } from '../client/client.js';
import { vmLink } from '../lib/route.js';
import { nextStep, sentence } from '../lib/story.js';
import { ActionBar } from '../parts/action_bar.js';
import { fill, h, renew, text } from '../parts/dom.js';
import { icon } from '../parts/icons.js';
import { notice, statusMark, updateStatus } from '../parts/status.js';
import { onFleet, rows as fleet } from '../state/fleet.js';
import { overviewTab } from './vm_overview.js';
import { requestsTab } from './vm_requests.js';
import { screensTab } from './vm_screens.js';
import { yamlTab } from './vm_yaml.js';

const TABS = [['overview', 'Overview', overviewTab], ['screens', 'Screen and console', screensTab], ['yaml', 'YAML', yamlTab], ['requests', 'Requests', requestsTab]];
const STORY_MS = 5000, SOON_MS = 150;

export function vmView(route) {
  const { namespace, name } = route.params, key = `${namespace}/${name}`;
  /** What all tabs see: the objects as they are, the story, and who wants to hear of changes. */
  const model = { namespace, name, key, row: fleet.get(key) ?? null, vm: null, vmi: null, story: null, gone: false, listeners: new Set() };
  const actionBar = new ActionBar(`Actions for ${name}`);
  const status = statusMark('', 'quiet'), verdict = h('p', { class: 'verdict' }), problem = h('div', {}), panel = h('div', { class: 'panel', role: 'tabpanel', tabindex: '-1' });
  const end = new AbortController();
  let tab = null, tabId = '', soon = 0, turn = 0;

  const tabs = TABS.map(([id, title]) => h('a', { role: 'tab', id: `tab-${id}`, href: vmLink(namespace, name, id === 'overview' ? '' : id), 'data-tab': id }, title));
  const tablist = h('div', { class: 'tabs', role: 'tablist', 'aria-label': `Parts of ${name}`, onkeydown: event => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key], at = tabs.indexOf(document.activeElement);
    if (step && at >= 0) { const next = tabs[(at + step + tabs.length) % tabs.length]; next.focus(); next.click(); event.preventDefault(); }
    if (event.key === ' ' && at >= 0) { tabs[at].click(); event.preventDefault(); }
  } }, tabs);

  const element = h('section', { class: 'page vm' },
    h('div', { class: 'page-head' }, h('a', { class: 'back', href: '#/vms', 'aria-label': 'Back to the VMs' }, icon('back')), h('h1', {}, name), h('span', { class: 'muted' }, namespace), status, h('div', { class: 'grow' })),
    verdict, actionBar.element, problem, tablist, panel);

  async function load() {
    const mine = turn += 1, one = async (resource, into) => {
      try { model[into] = await get(resourcePath(resource, namespace, name), { signal: end.signal }); } catch (error) { if (error.code === 404) model[into] = null; else throw error; }
    };
    try {
      await Promise.all([one('virtualmachines', 'vm'), one('virtualmachineinstances', 'vmi')]);
      if (mine !== turn || end.signal.aborted) return;
      model.gone = !model.vm && !model.vmi;
      show();
      tell();
      await loadStory(mine);
    } catch (error) {
      if (!end.signal.aborted) fill(problem, notice('bad', 'This VM cannot be read.', h('p', {}, error.message)));
    }
  }

  async function loadStory(mine) {
    if (model.gone) return;
    try {
      model.story = await get(uiPath('story', 'namespaces', namespace, model.vm ? 'virtualmachines' : 'virtualmachineinstances', name), { signal: end.signal });
    } catch {
      if (end.signal.aborted) return;
      model.story = null;
    }
    if (mine !== turn) return;
    showVerdict();
    tell();
  }

  const tell = () => { for (const listener of [...model.listeners]) listener(); };

  function showVerdict() {
    const told = model.story?.verdict;
    renew(verdict, told?.text ? [h('span', {}, sentence(told.text)), nextStep(told) ? h('span', { class: 'next' }, ' Next: ', nextStep(told)) : null] : null);
  }

  function show() {
    const row = model.row = fleet.get(key) ?? null;
    updateStatus(status, model.gone ? 'Gone' : row?.status ?? model.vm?.status?.printableStatus ?? model.vmi?.status?.phase ?? '', model.gone ? 'quiet' : undefined);
    if (row) actionBar.show([row]);
    actionBar.element.hidden = model.gone;
    element.classList.toggle('gone', model.gone);
    fill(problem, model.gone ? notice('warn', `There is no VM ${name} in namespace ${namespace}.`, h('p', {}, 'It was deleted, or the address is wrong. ', h('a', { href: `#/requests?name=${encodeURIComponent(name)}&namespace=${encodeURIComponent(namespace)}` }, 'See the requests for it'), ' or ', h('a', { href: '#/vms' }, 'go to the VMs'), '.')) : null);
  }

  function open(next) {
    const id = TABS.some(([one]) => one === next) ? next : 'overview';
    if (id === tabId) return;
    tab?.end?.();
    tabId = id;
    for (const one of tabs) { const chosen = one.dataset.tab === id; one.setAttribute('aria-selected', String(chosen)); one.tabIndex = chosen ? 0 : -1; if (chosen && one.isConnected) one.scrollIntoView({ block: 'nearest', inline: 'nearest' }); }
    panel.setAttribute('aria-labelledby', `tab-${id}`);
    element.dataset.tab = id;
    tab = TABS.find(([one]) => one === id)[2](model, route.query);
    fill(panel, tab.element);
  }

  const stop = onFleet(changed => {
    if (!changed.has(key) && model.row) return;
    if (!fleet.has(key) && !changed.has(key)) return;
    show();
    clearTimeout(soon);
    soon = setTimeout(load, SOON_MS);
  });
  const timer = setInterval(() => { if (document.visibilityState !== 'hidden') loadStory(turn); }, STORY_MS);
  open(route.params.tab);
  load();
  text(status.lastChild, model.row?.status ?? '');
  return { element, title: name, update(next) { route = next; open(next.params.tab); }, end() { end.abort(); stop(); clearInterval(timer); clearTimeout(soon); tab?.end?.(); } };
}
