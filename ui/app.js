// The page: who is signed in, which view the address names, and the frame around it.
import { parseRoute } from './lib/route.js';
import { openDialog } from './parts/dialog.js';
import { fill, h, text } from './parts/dom.js';
import { icon } from './parts/icons.js';
import { notice } from './parts/status.js';
import { toast } from './parts/toast.js';
import { fleetState, onFleet, startFleet, stopFleet } from './state/fleet.js';
import { onSession, resume, session, signIn, signOut } from './state/session.js';
import { applyTheme, theme, themes } from './state/settings.js';
import { aboutView } from './views/about.js';
import { createView } from './views/create.js';
import { loginView } from './views/login.js';
import { nodesView } from './views/nodes.js';
import { requestView } from './views/request.js';
import { requestsView } from './views/requests.js';
import { storageView } from './views/storage.js';
import { vmView } from './views/vm.js';
import { vmsView } from './views/vms.js';

const VIEWS = { vms: vmsView, vm: vmView, create: createView, requests: requestsView, request: requestView, nodes: nodesView, storage: storageView, about: aboutView };
const NAVIGATION = [['vms', 'VMs', 'vms'], ['create', 'Create', 'create'], ['requests', 'Requests', 'requests'], ['nodes', 'Nodes', 'nodes'], ['storage', 'Storage', 'storage'], ['about', 'About', 'about']];
const CONNECTION = { loading: ['Loading', 'busy'], live: ['Live', 'good'], waiting: ['Reconnecting', 'warn'], refused: ['No access', 'bad'], idle: ['', 'quiet'] };

const app = document.getElementById('app');
const main = h('main', { id: 'main', tabindex: '-1' });
const connection = h('span', { class: 'status', role: 'status', 'data-tone': 'quiet' }, h('i', { class: 'dot', 'aria-hidden': 'true' }), h('span', {}));
let current = null, shownView = '';

function frame() {
  const links = NAVIGATION.map(([section, title, sign]) => h('a', { href: `#/${section}`, 'data-section': section }, icon(sign), h('span', {}, title)));
  const themeButton = h('button', { class: 'quiet', onclick: () => { applyTheme(themes[(themes.indexOf(theme()) + 1) % themes.length]); name(); } });
  const name = () => { fill(themeButton, icon('theme'), h('span', {}, `Theme: ${theme()}`)); };
  name();
  return h('div', { class: 'frame' },
    h('a', { class: 'skip', href: '#main', onclick: event => { event.preventDefault(); main.focus(); } }, 'Skip to the content'),
    h('header', { class: 'side' }, h('a', { class: 'brand', href: '#/vms' }, h('img', { src: 'icon.svg', alt: '', width: '22', height: '22' }), h('span', {}, 'virtgate')),
      h('nav', { 'aria-label': 'Pages' }, links),
      h('div', { class: 'side-foot' }, connection, themeButton,
        h('div', { class: 'who' }, h('span', { class: 'muted', title: [session.user, ...(session.groups ?? [])].join(', ') }, session.user), h('button', { class: 'quiet', onclick: () => signOut() }, icon('out'), h('span', {}, 'Sign out'))))),
    main);
}

function showConnection() {
  const { word, error } = fleetState(), [title, tone] = CONNECTION[word] ?? CONNECTION.idle;
  connection.dataset.tone = tone;
  connection.title = error?.message ?? '';
  text(connection.lastChild, title);
}
onFleet(keys => { if (keys.has('')) showConnection(); });

// A link that somebody else sent must not change who is signed in without a word.
function askBeforeSwitch(code) {
  openDialog('Sign in by this link?', h('p', {}, `You are signed in as ${session.user}. The link ends that session and signs in whoever asked for the link.`), { buttons: [{ title: `Stay ${session.user}`, class: 'primary', act: close => close() },
    { title: 'Sign in by the link', act: close => { close(); signIn({ code }).catch(() => toast('This link is not valid any more: it can be used once, within five minutes.', { tone: 'bad' })); } }] });
}

// "/" goes to the search of a page, unless one is typing somewhere.
document.addEventListener('keydown', event => {
  if (event.key !== '/' || event.ctrlKey || event.altKey || event.metaKey || event.target.closest('input, textarea, select, dialog, .pane')) return;
  const search = main.querySelector('input[type=search]');
  if (search) { search.focus(); event.preventDefault(); }
});

function navigate() {
  const route = parseRoute(location.hash);
  if (!session) {
    current?.end?.();
    current = null;
    return fill(app, loginView(route?.view === 'login' ? route.params.code : undefined, route?.view === 'login' ? '#/vms' : location.hash).element);
  }
  if (route?.view === 'login') { history.replaceState(null, '', '#/vms'); if (route.params.code) askBeforeSwitch(route.params.code); return navigate(); }
  if (!app.querySelector('.frame')) fill(app, frame());
  for (const link of app.querySelectorAll('nav a')) {
    if (link.dataset.section === route?.section) { link.setAttribute('aria-current', 'page'); link.scrollIntoView({ block: 'nearest', inline: 'nearest' }); } else link.removeAttribute('aria-current');
  }
  // A view that can show another address of its kind does so itself: tabs and filters do not start over.
  const identity = route ? JSON.stringify([route.view, { ...route.params, tab: undefined }]) : '';
  if (current?.update && identity === shownView) return current.update(route);
  current?.end?.();
  shownView = identity;
  current = route ? VIEWS[route.view](route) : { element: h('section', { class: 'page' }, h('div', { class: 'page-head' }, h('h1', {}, 'Not found')), notice('warn', 'There is no such page.', h('p', {}, 'The address is wrong, or of another version of this page. ', h('a', { href: '#/vms' }, 'Go to the VMs')))), title: 'Not found' };
  fill(main, current.element);
  main.scrollTop = 0;
  document.title = `${current.title} · virtgate`;
  const heading = main.querySelector('h1');
  if (heading && document.activeElement !== document.body) { heading.tabIndex = -1; heading.focus({ preventScroll: true }); }
  return undefined;
}

onSession(now => {
  if (now) startFleet(); else stopFleet();
  fill(app);
  shownView = '';
  navigate();
});

applyTheme();
window.addEventListener('hashchange', navigate);
resume().catch(error => fill(app, h('main', { class: 'login' }, notice('bad', 'The server does not answer.', h('p', {}, error.message), h('button', { onclick: () => location.reload() }, 'Try again')))));
