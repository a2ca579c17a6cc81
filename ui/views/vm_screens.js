// Screen and console of one VM side by side. Both reconnect after a migration.
import { may, notAllowed } from '../client/access.js';
import { actionPath } from '../client/client.js';
import { openDialog } from '../parts/dialog.js';
import { fill, h, labelled, select } from '../parts/dom.js';
import { icon } from '../parts/icons.js';
import { statusMark, updateStatus } from '../parts/status.js';
import { Stream } from '../parts/stream.js';
import { loadTerminal, openTerminal, terminalOptions } from '../parts/terminal.js';
import { failed, toast } from '../parts/toast.js';
import { keep, setting } from '../state/settings.js';

const TONES = { connecting: 'busy', open: 'good', waiting: 'warn', taken: 'warn', ended: 'quiet' };
const WORDS = { connecting: 'Connecting', open: 'Connected', waiting: 'Reconnecting', taken: 'Taken over', ended: 'Closed' };
const TYPED_MAX = 4096, KEY_MS = 8;
const CONTROLS = [[0xffe3, 'ControlLeft'], [0xffe4, 'ControlRight']];
const MISSING = 'This server was built without it: run tools/ui_vendor.py build/ui-vendor with a network and build again. virtctl works without.';
const CONSOLE_THEME = { background: '#10141a', foreground: '#dfe5ec', cursor: '#7aa7ff', selectionBackground: '#35507a' };

/** A pane with a head, a toolbar and a place for what is shown; `overlay` says what is wrong. A guest gets every key but Ctrl+F6, which leaves it. */
function pane(title, ...tools) {
  const status = statusMark('', 'quiet'), place = h('div', { class: 'viewport' }), overlay = h('div', { class: 'overlay', hidden: true });
  const element = h('section', { class: 'pane', 'aria-label': title }, h('header', {}, h('h2', {}, title), status, h('div', { class: 'tools' }, tools)), h('div', { class: 'viewport-box' }, place, overlay));
  status.setAttribute('role', 'status');
  place.addEventListener('keydown', event => {
    if (event.key !== 'F6' || !event.ctrlKey || event.altKey || event.shiftKey) return;
    event.preventDefault();
    event.stopPropagation();
    element.querySelector('.tools').firstElementChild.focus();
    place.dispatchEvent(new CustomEvent('left'));
  }, true);
  return { element, place, overlay, show(word, message, again) {
    updateStatus(status, WORDS[word] ?? '', TONES[word] ?? 'quiet');
    element.dataset.state = word;
    overlay.hidden = word === 'open' || !message;
    fill(overlay, h('p', {}, message), again && (word === 'taken' || word === 'ended') ? h('button', { onclick: again }, icon('reconnect'), word === 'taken' ? 'Take over' : 'Connect again') : null);
  } };
}

const tool = (name, title, act) => h('button', { class: 'quiet small', title, 'aria-label': title, onclick: act }, icon(name));
const fullScreen = element => element.requestFullscreen?.().catch(error => failed('Full screen', error));
const check = (model, subresource) => ({ verb: 'get', group: 'subresources.kubevirt.io', resource: 'virtualmachineinstances', subresource, namespace: model.namespace, name: model.name });

export function screensTab(model) {
  const running = () => model.vmi?.status?.phase === 'Running';
  const parts = [screenPane(model, running), consolePane(model, running)];
  let identity = null;

  // Another node, another VMI, or running again: what was lost is opened at once.
  function changed() {
    if (!model.vm && !model.vmi) return;  // not read yet
    const now = `${model.vmi?.metadata?.uid} ${model.vmi?.status?.nodeName} ${running()}`;
    if (now === identity) return;
    identity = now;
    parts.forEach(part => part.nudge());
  }
  model.listeners.add(changed);
  changed();
  return { element: h('div', { class: 'screens' }, parts.map(part => part.element)), end() { model.listeners.delete(changed); parts.forEach(part => part.end()); } };
}

function screenPane(model, running) {
  const scaling = select([['scale', 'Fit'], ['none', '1:1'], ['remote', 'Resize guest']], setting('scaling', 'scale'), { 'aria-label': 'Scaling', onchange: () => { keep('scaling', scaling.value); scale(); } });
  const keys = select([['position', 'Keys by position'], ['character', 'Keys by character']], setting('keys', 'position'), { 'aria-label': 'Keyboard layout', title: 'By position: the guest applies its own layout. By character: what is printed on your keys is sent.', onchange: () => keep('keys', keys.value) });
  const view = pane('Screen', scaling, keys, h('button', { class: 'quiet small', onclick: () => rfb?.sendCtrlAltDel() }, 'Ctrl-Alt-Del'), tool('paste', 'Type text into the guest', () => typeText()), tool('camera', 'Save a picture', () => picture()), tool('full', 'Full screen', () => fullScreen(view.element)), tool('reconnect', 'Connect again', () => start()));
  let rfb = null, Rfb = null, ended = false, takeOver = false;
  // Several pages look together. Whoever has the screen alone (virtctl does, and every viewer of a node that does not share) is not interrupted unasked.
  const stream = new Stream(() => `${actionPath('virtualmachineinstances', model.namespace, model.name, 'vnc')}?shared=true&preserveSession=${!takeOver}`, { running, open: opened, state: (word, message) => {
    view.show(word, word === 'taken' ? 'Somebody else has opened this screen for themselves alone. Taking it over ends their session.' : message, running() ? () => start(word === 'taken') : null);
  } });

  function scale() {
    if (!rfb) return;
    rfb.scaleViewport = scaling.value === 'scale';
    rfb.resizeSession = scaling.value === 'remote';
    rfb.clipViewport = false;
  }

  function opened(socket) {
    socket.addEventListener('open', () => { takeOver = false; });
    fill(view.place);
    rfb = new Rfb(view.place, socket, { shared: true });
    rfb.background = 'transparent';
    rfb.focusOnClick = true;
    const send = rfb.sendKey.bind(rfb);
    rfb.sendKey = (keysym, code, down) => send(keysym, keys.value === 'character' ? null : code, down);
    scale();
    rfb.addEventListener('clipboard', event => { lastClipboard = String(event.detail.text ?? '').slice(0, TYPED_MAX); });
    const canvas = view.place.querySelector('canvas');
    canvas?.setAttribute('aria-label', `Screen of ${model.name}; keys go to the guest while it has the focus, Ctrl+F6 leaves it`);
    canvas?.setAttribute('role', 'application');
    if (canvas) canvas.tabIndex = 0;
  }
  // The release of Ctrl is not seen here any more: the guest is told.
  view.place.addEventListener('left', () => { for (const [keysym, code] of CONTROLS) rfb?.sendKey(keysym, code, false); });
  let lastClipboard = '';

  function typeText() {
    const area = h('textarea', { rows: '4', class: 'code', maxlength: String(TYPED_MAX) });
    openDialog('Type text into the guest', [labelled('Text', area, 'It is typed key by key, as on a US keyboard. Nothing is kept.'), lastClipboard ? h('p', { class: 'muted' }, 'The guest copied: ', h('code', {}, lastClipboard.slice(0, 200))) : null], { buttons: [{ title: 'Cancel', act: close => close() }, { title: 'Type it', class: 'primary', act: close => { const { value } = area; close(); type(value); } }] });
    area.focus();
  }

  async function type(text) {
    for (const one of text.slice(0, TYPED_MAX)) {
      if (!rfb) return;
      const point = one.codePointAt(0), keysym = one === '\n' ? 0xff0d : one === '\t' ? 0xff09 : point < 0x100 ? point : 0x01000000 | point;
      rfb.sendKey(keysym, null);
      await new Promise(done => setTimeout(done, KEY_MS));
    }
  }

  function picture() {
    const canvas = view.place.querySelector('canvas');
    if (!canvas) return;
    canvas.toBlob(blob => {
      const url = URL.createObjectURL(blob), link = document.createElement('a');
      Object.assign(link, { href: url, download: `${model.name}.png` });
      link.click();
      setTimeout(() => URL.revokeObjectURL(url), 10_000);
    });
  }

  async function start(take = false) {
    const asked = check(model, 'vnc');
    if (!(await may(asked))) { view.show('ended', notAllowed(asked)); return; }
    try { Rfb ??= (await import('../vendor/novnc/core/rfb.js')).default; } catch { view.show('ended', `There is no screen: noVNC is missing. ${MISSING}`); return; }
    if (ended) return;
    takeOver = take;
    stream.connect();
  }

  view.show('connecting', 'Waiting for the guest…');
  return { element: view.element, nudge: () => start(), end() { ended = true; stream.close(); rfb = null; } };
}

function consolePane(model, running) {
  const view = pane('Console', tool('paste', 'Paste the clipboard', () => paste()), h('button', { class: 'quiet small', onclick: () => terminal?.clear() }, 'Clear'), tool('full', 'Full screen', () => fullScreen(view.element)), tool('reconnect', 'Connect again', () => start()));
  let terminal = null, fit = null, ended = false, resize = null;
  const stream = new Stream(actionPath('virtualmachineinstances', model.namespace, model.name, 'console'), { running, open: opened, state: (word, message) => view.show(word, message, running() ? () => start() : null) });
  const send = text => { if (stream.socket?.readyState === WebSocket.OPEN) stream.socket.send(new TextEncoder().encode(text)); };

  function opened(socket) {
    socket.addEventListener('message', event => { if (event.data instanceof ArrayBuffer) terminal?.write(new Uint8Array(event.data)); });
  }

  async function paste() {
    try { terminal?.paste(await navigator.clipboard.readText()); terminal?.focus(); } catch { toast('The browser does not give the clipboard; press Ctrl+Shift+V in the console.', { tone: 'warn' }); }
  }

  async function begin() {
    const { Terminal, FitAddon } = await loadTerminal();
    if (ended || terminal) return;
    terminal = new Terminal(terminalOptions(CONSOLE_THEME));
    fit = new FitAddon();
    terminal.loadAddon(fit);
    openTerminal(terminal, view.place);
    terminal.onData(send);
    terminal.textarea?.setAttribute('aria-label', `Console of ${model.name}; Ctrl+F6 leaves it`);
    resize = new ResizeObserver(() => { if (view.place.clientHeight > 0) fit.fit(); });
    resize.observe(view.place);
  }

  async function start() {
    const asked = check(model, 'console');
    if (!(await may(asked))) { view.show('ended', notAllowed(asked)); return; }
    try { await begin(); } catch { view.show('ended', `There is no console: xterm.js is missing. ${MISSING}`); return; }
    if (!ended) stream.connect();
  }

  view.show('connecting', 'Waiting for the guest…');
  return { element: view.element, nudge: start, end() { ended = true; stream.close(); resize?.disconnect(); terminal?.dispose(); terminal = null; } };
}

