// What this is, who is signed in, and the licences of what the page brings.
import { asset, assetJson } from '../client/client.js';
import { clock } from '../lib/format.js';
import { fill, h } from '../parts/dom.js';
import { session } from '../state/session.js';

const KEYS = [['↑ ↓ Page Up Page Down Home End', 'move in a list'], ['Space, Shift+Space', 'select a row, or all rows up to it'], ['Enter', 'open a row'], ['/', 'search'], ['Esc, then Tab', 'leave the YAML editor'], ['Ctrl+F6', 'leave a screen or a console, which get all other keys']];

export function aboutView() {
  const parts = h('div', {}, h('p', { class: 'muted' }, 'Loading…'));

  async function licences() {
    try {
      const found = await assetJson('vendor/manifest.json');
      fill(parts, found.map(one => h('details', { ontoggle: event => show(event.target, one) }, h('summary', {}, `${one.name} ${one.version}`, h('span', { class: 'muted' }, ` ${one.license}`)), h('div', { class: 'licences' }))));
    } catch {
      fill(parts, h('p', {}, 'This server was built without xterm.js and noVNC: there is neither console nor screen in this page. virtctl has both.'));
    }
  }

  async function show(details, one) {
    const place = details.querySelector('.licences');
    if (!details.open || place.firstChild) return;
    for (const path of one.licenseFiles) place.append(h('pre', { tabindex: '0' }, await asset(`vendor/${path}`).catch(error => error.message)));
  }
  licences();
  return { element: h('section', { class: 'page' }, h('div', { class: 'page-head' }, h('h1', {}, 'About')),
    h('section', { class: 'card' }, h('h2', {}, 'virtgate'), h('dl', { class: 'facts' }, [['Version', session?.version], ['Mode', session?.mode], ['Signed in as', session?.user], ['Groups', (session?.groups ?? []).join(', ')], ['Session until', session?.expires ? clock(session.expires, Date.now()) : '']].filter(([, value]) => value).map(([title, value]) => [h('dt', {}, title), h('dd', {}, value)]))),
    h('section', { class: 'card' }, h('h2', {}, 'Keys'), h('dl', { class: 'facts' }, KEYS.map(([keys, what]) => [h('dt', {}, h('kbd', {}, keys)), h('dd', {}, what)]))),
    h('section', { class: 'card' }, h('h2', {}, 'Licences'), h('p', {}, 'virtgate is licensed under the terms of its LICENSE file. This page brings these libraries:'), parts)), title: 'About' };
}
